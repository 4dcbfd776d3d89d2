/** Tracks the servers that requests come from. Warns of a short keep-alive timeout; stops servers, and waits for them. */
import { Server } from 'node:net'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'

export interface KnownServer {
  /** False once it accepts no new connections. Keeping its connections open is then useless. */
  readonly listening: boolean
  once(event: 'close', listener: () => void): unknown
}

/** The part of `http.Server` that is used. Node does not document how to get from a socket to its server. */
interface SeenServer extends KnownServer {
  readonly keepAliveTimeout: number
}

export type Servers = ReturnType<typeof createServers>

/** Node's default is 5 s, which many clients also use as their idle time. */
const SHORT_KEEP_ALIVE_MS = 5_000

/** Requests of a busy server come closer together than this. */
const QUIET_MS = 500

export function createServers({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
  const open = new Map<unknown, KnownServer>()
  const stopped = new Set<KnownServer>()
  let warned = false
  let watchedMs = Infinity
  let quietFor = (): number => Infinity
  let changed = (): void => {}

  function track(server: KnownServer): void {
    open.set(server, server)
    server.once('close', () => {
      open.delete(server)
      stopped.delete(server)
      changed()
    })
  }

  function add(server: SeenServer): SeenServer {
    track(server)
    const { keepAliveTimeout } = server
    if (warned || keepAliveTimeout <= 0 || keepAliveTimeout > SHORT_KEEP_ALIVE_MS) return server
    warned = true
    logger.warn(
      { code: 'keep_alive_short', keepAliveTimeout },
      `server.keepAliveTimeout is ${keepAliveTimeout} ms. A callback sent while an idle connection closes is lost, ` +
        'because the service does not resend it. Set a longer time than the idle timeout of the clients and proxies ' +
        'that connect to this server, for example server.keepAliveTimeout = 75_000.',
    )
    return server
  }

  function isLeftAlone(server: KnownServer): boolean {
    return server.listening && !stopped.has(server)
  }

  /** Whether the wait is over, or how long to wait before checking again. */
  function judge(): { readonly areClosed: boolean; readonly againMs: number } {
    if (open.size === 0) return { areClosed: true, againMs: 0 }
    // A stopping server answers requests until its last connection has closed.
    if (![...open.values()].every(isLeftAlone)) return { areClosed: false, againMs: Infinity }
    const quietMs = Math.min(quietFor(), Math.max(0, clock.now() - watchedMs))
    return { areClosed: quietMs >= QUIET_MS, againMs: QUIET_MS - quietMs }
  }

  const servers = {
    /** True after `watch`: the receiver is closing, so answers close their connections. */
    areWatched: false,
    /** Servers that have been seen and have not closed. A field, because every request reads it. */
    open,
    /** Registers the server of a request, and returns it if there is one. */
    see: (server: unknown): KnownServer | undefined => (isServer(server) ? add(server) : undefined),
    /** Stops all servers, including those given, which may not have received a request. */
    stop(given: readonly Server[], times: StopTimes): void {
      for (const server of given) if (server.listening && !open.has(server)) track(server)
      for (const server of open.values()) {
        if (!(server instanceof Server)) continue
        stopped.add(server)
        stopServer(server, clock, times)
      }
    },
    /** Starts measuring how long no request has been pending. */
    watch(quietMs = quietFor): void {
      servers.areWatched = true
      quietFor = quietMs
      if (watchedMs === Infinity) watchedMs = clock.now()
    },
    /** Whether any server still listens that `stop` has not stopped. */
    get areListening(): boolean {
      return [...open.values()].some(isLeftAlone)
    },
    /**
     * Resolves to true once all servers have stopped and closed their connections, or once the remaining ones still listen, were
     * not told to stop here, and received no request for half a second. Resolves to false after `timeoutMs`.
     */
    closed(timeoutMs: number): Promise<boolean> {
      const sinceMs = clock.now()
      return new Promise((resolve) => {
        let cancel = (): void => {}
        function look(): void {
          cancel()
          const leftMs = sinceMs + timeoutMs - clock.now()
          const { areClosed, againMs } = judge()
          if (!areClosed && leftMs > 0) {
            cancel = clock.setTimer(look, Math.min(againMs, leftMs), true)
            return
          }
          changed = () => {}
          resolve(areClosed)
        }
        changed = look
        look()
      })
    },
  }
  return servers
}

function isServer(value: unknown): value is SeenServer {
  return typeof value === 'object' && value !== null && 'keepAliveTimeout' in value && 'listening' in value
}

export interface StopTimes {
  /** How long to keep listening: a load balancer may not know of the shutdown yet and still open connections. */
  readonly listenMs: number
  /** How long to keep idle connections open after that, so that a client's next request still finds one. */
  readonly idleMs: number
}

/** How often to look for connections that became idle after another listener's answer. */
const LOOK_AGAIN_MS = 100
/** Maximum wait for a quiet turn of the event loop. Under a flood, no turn is quiet. */
const MAX_TURNS = 1_000

/**
 * Stops a server without cutting clients off: first stops listening, then closes each connection after an answer, idle ones
 * last.
 */
function stopServer(server: Server, clock: Clock, { listenMs, idleMs }: StopTimes): void {
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
      if (turns <= 2 || (!quiet && turns < MAX_TURNS)) {
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

/** Tells the client with the answer to close this connection. HTTP/2, which ignores this, refuses the header itself. */
function closeAfterAnswer(_request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false
}
