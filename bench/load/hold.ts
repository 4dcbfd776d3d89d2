/** Slow clients that fill a server: each sends a body at its own pace, never the last byte, and reconnects when it is cut off. */
import { connect, type Socket } from 'node:net'
import { PATH } from './secrets.ts'

/** How a slow client sends. */
export interface Pace {
  /** Sent at once. */
  readonly firstBytes: number
  /** Sent in each following chunk. */
  readonly pieceBytes: number
  /** Interval between chunks; 0 sends nothing more. */
  readonly everyMs: number
}

export interface Holding {
  readonly port: number
  readonly connections: number
  readonly bodyBytes: number
  readonly pace: Pace
}

export interface Held {
  /** Closes the connections; returns how often clients were cut off. */
  release(): number
}

/** Spread out, so that the server's backlog of new connections does not affect the result. */
const OPENED_AT_ONCE = 50
const OPENED_EVERY_MS = 20

export function holdConnections({ port, connections, bodyBytes, pace }: Holding): Held {
  const { firstBytes, pieceBytes, everyMs } = pace
  const head = Buffer.from(`POST ${PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${bodyBytes}\r\n\r\n`)
  const body = Buffer.alloc(bodyBytes - 1, 0x20)
  const timers = new Set<NodeJS.Timeout>()
  const sockets = new Set<Socket>()
  let cutOff = 0
  let released = false

  function open(): void {
    if (released) return
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let sent = firstBytes
    sockets.add(socket)
    socket.on('error', () => {})
    socket.resume()
    socket.once('connect', () => {
      socket.write(head)
      socket.write(body.subarray(0, sent))
      if (everyMs === 0) return
      const timer = setInterval(() => {
        socket.write(body.subarray(sent, (sent += pieceBytes)))
        if (sent >= body.length) clearInterval(timer)
      }, everyMs)
      timers.add(timer)
      socket.once('close', () => {
        clearInterval(timer)
        timers.delete(timer)
      })
    })
    socket.once('close', () => {
      sockets.delete(socket)
      if (!released) cutOff += 1
      open()
    })
  }

  let opened = 0
  const opening = setInterval(() => {
    for (let more = 0; more < OPENED_AT_ONCE && opened < connections; more += 1, opened += 1) open()
    if (opened === connections) clearInterval(opening)
  }, OPENED_EVERY_MS)

  return {
    release() {
      released = true
      clearInterval(opening)
      for (const timer of timers) clearInterval(timer)
      for (const socket of sockets) socket.destroy()
      return cutOff
    },
  }
}
