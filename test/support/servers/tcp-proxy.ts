/** A proxy between a client and its server that behaves like a bad network: falls silent, cuts, delays, and cuts in the middle of a message. */
import type net from 'node:net'
import { startSocketServer } from './sockets.ts'

/**
 * `passes` everything; `stalls`: accepts connections and bytes but passes nothing in either direction until it passes
 * again; `refuses`: closes each new connection at once.
 */
type ProxyMode = 'passes' | 'stalls' | 'refuses'

export interface TcpProxy {
  readonly port: number
  mode: ProxyMode
  /** Delay of every chunk, in both directions. */
  delayMs: number
  /** Number of connections that clients have open. */
  readonly connections: number
  /** Ends all open connections. */
  cut(): void
  /**
   * The next time that a client sends these bytes, passes them on and cuts its connection before any answer: the
   * server executes the request, and the client never receives the answer. Resolves when that has happened. `times`: how
   * often a client must send them first.
   */
  cutAfterSending(bytes: string, times?: number): Promise<void>
  close(): Promise<void>
}

interface Pair {
  readonly client: net.Socket
  readonly server: net.Socket
  /** Data held back while the proxy stalls. */
  readonly held: (() => void)[]
  /** The end of the last chunk from the client: the searched bytes may span two chunks. */
  tail: string
  isDeaf: boolean
}

const LINGER_MS = 200

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  let mode: ProxyMode = 'passes'
  let delayMs = 0
  let trap: { readonly bytes: string; left: number; readonly sprung: () => void } | undefined

  /** Keeps the order: everything of a pair has the same delay, or waits in one queue. */
  function passOn(pair: Pair, work: () => void): void {
    const now = (): void => {
      if (mode === 'stalls' || pair.held.length > 0) pair.held.push(work)
      else work()
    }
    if (delayMs > 0) setTimeout(now, delayMs)
    else now()
  }

  function fromClient(pair: Pair, chunk: Buffer): void {
    const text = pair.tail + chunk.toString('latin1')
    pair.tail = ''
    if (trap === undefined || !text.includes(trap.bytes)) {
      if (trap !== undefined) pair.tail = text.slice(1 - trap.bytes.length)
      pair.server.write(chunk)
      return
    }
    trap.left -= 1
    if (trap.left > 0) {
      pair.server.write(chunk)
      return
    }
    const { sprung } = trap
    trap = undefined
    pair.isDeaf = true
    pair.server.write(chunk, () => {
      pair.client.destroy()
      // Gives the server time to read it before the connection closes.
      setTimeout(() => {
        pair.server.destroy()
        sprung()
      }, LINGER_MS)
    })
  }

  const { port, cut, close } = await startSocketServer((client, connect) => {
    if (mode === 'refuses') {
      client.destroy()
      return
    }
    const server = connect(target)
    const pair: Pair = { client, server, held: [], tail: '', isDeaf: false }
    pairs.add(pair)
    client.on('data', (chunk) => passOn(pair, () => fromClient(pair, chunk)))
    server.on('data', (chunk) => {
      if (!pair.isDeaf) passOn(pair, () => client.write(chunk))
    })
    client.on('close', () => {
      pairs.delete(pair)
      if (!pair.isDeaf) server.destroy()
    })
    server.on('close', () => passOn(pair, () => client.destroy()))
  })

  return {
    port,
    get mode() {
      return mode
    },
    set mode(next) {
      mode = next
      if (mode !== 'stalls') for (const { held } of pairs) for (const work of held.splice(0)) work()
    },
    get connections() {
      return pairs.size
    },
    get delayMs() {
      return delayMs
    },
    set delayMs(next) {
      delayMs = next
    },
    cut,
    close,
    cutAfterSending: (bytes, times = 1) => new Promise((resolve) => (trap = { bytes, left: times, sprung: resolve })),
  }
}
