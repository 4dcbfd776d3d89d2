/** Stops servers so that no client is cut off: first the listening, then each connection after an answer, idle ones last. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server } from 'node:net'
import type { Clock } from '../runtime/clock.ts'

export interface StopTimes {
  /** Go on listening for so long: a balancer that has not heard of the end yet still sends new connections. */
  readonly listenMs: number
  /** Then leave connections open that a client keeps alive, so that its next request finds one, for so long. */
  readonly idleMs: number
}

/** What became idle after an answer of another listener's is found within so long. */
const LOOK_AGAIN_MS = 100
/** Under a flood no turn of the event loop is quiet, and then we wait for none. */
const MOST_TURNS = 1_000

export function stopServer(server: Server, clock: Clock, { listenMs, idleMs }: StopTimes): void {
  let cancel = (): void => {}
  server.prependListener('request', closeAfterAnswer)
  server.once('close', () => {
    cancel()
    server.off('request', closeAfterAnswer)
  })
  if (listenMs > 0) cancel = clock.setTimer(acceptRest, listenMs, true)
  else acceptRest()

  /**
   * A client is connected before we accept it, and is reset where we close before that. Node accepts one connection a
   * turn of the event loop: after a turn that brought none, nobody waits.
   */
  function acceptRest(): void {
    let turns = 0
    let quiet = false
    const disturb = (): void => void (quiet = false)
    server.on('connection', disturb)
    server.on('request', disturb)
    const look = (): void => {
      turns += 1
      // The first turn began before we listened to it.
      if (turns <= 2 || (!quiet && turns < MOST_TURNS)) {
        quiet = true
        clock.soon(look)
        return
      }
      server.off('connection', disturb)
      server.off('request', disturb)
      stopListening()
    }
    look()
  }

  function stopListening(): void {
    // `close` of a http.Server also cuts its idle connections off, and with them what a client is just sending there.
    // That of net.Server, which it extends, does not.
    if (server.listening) Server.prototype.close.call(server)
    cancel = clock.setTimer(closeIdle, idleMs, true)
  }

  function closeIdle(): void {
    cancel = clock.setTimer(closeIdle, LOOK_AGAIN_MS, true)
    server.close()
  }
}

/** The client learns with its answer that this connection is of no more use, and sends nothing after it. */
function closeAfterAnswer(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('connection', 'close')
}
