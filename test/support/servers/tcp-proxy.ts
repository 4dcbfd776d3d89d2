/** A proxy between a client and its server that behaves like a bad network: falls silent, cuts, delays, and cuts in the middle of a message. */
import { once } from 'node:events'
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
  /**
   * The next time that a client sends these bytes, holds back them and all that follows on its connection, even if the client
   * closes it. Resolves then, to a function that lets them arrive and waits until the server has closed the connection.
   */
  holdBack(bytes: string): Promise<() => Promise<void>>
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
  /** Data that arrives at the server only when the test says so. */
  late: Buffer[] | undefined
}

const LINGER_MS = 200

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  let mode: ProxyMode = 'passes'
  let delayMs = 0
  let trap: { readonly bytes: string; left: number; readonly spring: (pair: Pair, chunk: Buffer) => void } | undefined

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
    if (pair.late !== undefined) {
      pair.late.push(chunk)
      return
    }
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
    const { spring } = trap
    trap = undefined
    pair.isDeaf = true
    spring(pair, chunk)
  }

  function cutAfter({ client, server }: Pair, chunk: Buffer, done: () => void): void {
    server.write(chunk, () => {
      client.destroy()
      // Gives the server time to read it before the connection closes.
      setTimeout(() => {
        server.destroy()
        done()
      }, LINGER_MS)
    })
  }

  async function arrive({ server, late = [] }: Pair): Promise<void> {
    if (server.destroyed) return
    const closed = once(server, 'close')
    server.end(Buffer.concat(late))
    await closed
  }

  const { port, cut, close } = await startSocketServer((client, connect) => {
    if (mode === 'refuses') {
      client.destroy()
      return
    }
    const server = connect(target)
    const pair: Pair = { client, server, held: [], tail: '', isDeaf: false, late: undefined }
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
    cutAfterSending: (bytes, times = 1) =>
      new Promise((resolve) => {
        trap = { bytes, left: times, spring: (pair, chunk) => cutAfter(pair, chunk, resolve) }
      }),
    holdBack: (bytes) =>
      new Promise((resolve) => {
        function spring(pair: Pair, chunk: Buffer): void {
          pair.late = [chunk]
          resolve(() => arrive(pair))
        }
        trap = { bytes, left: 1, spring }
      }),
  }
}
