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
   * server executes the request, and the client never receives the answer. Resolves when that has happened.
   */
  cutAfterSending(bytes: string, when?: When): Promise<void>
  /**
   * The next time that a client sends these bytes, holds back them and all that follows on its connection, even if the client
   * closes it. Resolves then, to a function that lets them arrive and waits until the server has closed the connection.
   */
  holdBack(bytes: string): Promise<() => Promise<void>>
  close(): Promise<void>
}

interface When {
  /** How often a client must send the bytes first. Default 1. */
  readonly times?: number
  /** What the same connection must have sent before. Default: nothing. */
  readonly after?: string
}

interface Trap extends When {
  readonly bytes: string
  readonly spring: (pair: Pair, chunk: Buffer) => void
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
  let trap: Trap | undefined
  /** How often its bytes are still to be sent. */
  let left = 0
  /** The connections that have sent what must come before. */
  let ready = new WeakSet<Pair>()

  function setTrap(next: Trap): void {
    trap = next
    left = next.times ?? 1
    ready = new WeakSet()
  }

  /** The next bytes of the trap that a connection is to send. */
  function searched({ bytes, after }: Trap, pair: Pair): string {
    return after === undefined || ready.has(pair) ? bytes : after
  }

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
    if (trap === undefined || !text.includes(searched(trap, pair))) {
      if (trap !== undefined) pair.tail = text.slice(1 - searched(trap, pair).length)
      pair.server.write(chunk)
      return
    }
    if (searched(trap, pair) === trap.bytes) left -= 1
    ready.add(pair)
    if (left > 0) {
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
    cutAfterSending: (bytes, when = {}) =>
      new Promise((resolve) => {
        setTrap({ ...when, bytes, spring: (pair, chunk) => cutAfter(pair, chunk, resolve) })
      }),
    holdBack: (bytes) =>
      new Promise((resolve) => {
        function spring(pair: Pair, chunk: Buffer): void {
          pair.late = [chunk]
          resolve(() => arrive(pair))
        }
        setTrap({ bytes, spring })
      }),
  }
}
