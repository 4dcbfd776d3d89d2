/**
 * Stops servers without cutting clients off: first stops listening, then closes each connection after an answer, idle ones
 * last.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server } from 'node:net'
import type { Clock } from '../runtime/clock.ts'

export interface StopTimes {
  /** How long to keep listening: a load balancer may not know of the shutdown yet and still open connections. */
  readonly listenMs: number
  /** How long to keep idle connections open after that, so that a client's next request still finds one. */
  readonly idleMs: number
}

/** How often to look for connections that became idle after another listener's answer. */
const LOOK_AGAIN_MS = 100
/** Maximum wait for a quiet turn of the event loop. Under a flood, no turn is quiet. */
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
   * Waits for a turn of the event loop that accepts no connection. Node accepts one a turn, and closing resets clients that are
   * connected but not yet accepted.
   */
  function acceptRest(): void {
    let turns = 0
    let quiet = false
    const disturb = (): void => void (quiet = false)
    server.on('connection', disturb)
    server.on('request', disturb)
    const look = (): void => {
      turns += 1
      // The first turn began before this listener was attached.
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
    // `close` of http.Server also destroys idle connections, on which a client may just be sending. `close` of its base class
    // net.Server does not.
    if (server.listening) Server.prototype.close.call(server)
    cancel = clock.setTimer(closeIdle, idleMs, true)
  }

  function closeIdle(): void {
    cancel = clock.setTimer(closeIdle, LOOK_AGAIN_MS, true)
    server.close()
  }
}

/** Tells the client with the answer to close this connection. */
function closeAfterAnswer(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('connection', 'close')
}
