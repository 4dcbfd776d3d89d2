/** The servers that requests came from: asked for a dangerous setting, and waited for when the receiver closes. */
import { Server } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { stopServer, type StopTimes } from './stop-server.ts'

export interface KnownServer {
  /** False once it takes no new connections: those that it has are of no more use to a client. */
  readonly listening: boolean
  once(event: 'close', listener: () => void): unknown
}

/** What we use of a `http.Server`; Node does not document how to come from a socket to it. */
interface SeenServer extends KnownServer {
  readonly keepAliveTimeout: number
}

export interface Servers {
  /** Those that were seen and have not closed. A field, for every request looks at it. */
  readonly open: ReadonlyMap<unknown, KnownServer>
  /** A request came from this server, which was not seen before. Returns it, where it is one. */
  see(server: unknown): KnownServer | undefined
  /** True from `watch` on: the receiver closes, and connections are of no more use to a client. */
  readonly areWatched: boolean
  /** Stops them all, the `given` ones too, of which perhaps no request came. */
  stop(given: readonly Server[], times: StopTimes): void
  /** From now on `closed` asks how long no request has been under way. */
  watch(quietMs?: () => number): void
  /** The shortest `keepAliveTimeout` of those that close idle connections; undefined where none is known. */
  readonly keepAliveMs: number | undefined
  /** True where one still listens, and nobody here has been told to stop it. */
  readonly areListening: boolean
  /**
   * True when all have stopped and closed their connections, or when those that are left still listen, with nobody here to
   * stop them, and no request has come for half a second; false when `timeoutMs` passed before.
   */
  closed(timeoutMs: number): Promise<boolean>
}

/** Node's own default is 5 s, which is the idle time of many a client, too. */
const SHORT_KEEP_ALIVE_MS = 5_000

/** Requests that keep coming are no further apart. */
const QUIET_MS = 500

export function createServers({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }): Servers {
  const open = new Map<unknown, KnownServer>()
  const stopped = new Set<KnownServer>()
  let warned = false
  let watchedMs = Infinity
  let quietFor = (): number => Infinity
  let changed = (): void => {}

  function waitFor(server: KnownServer): void {
    open.set(server, server)
    server.once('close', () => {
      open.delete(server)
      stopped.delete(server)
      changed()
    })
  }

  function add(server: SeenServer): SeenServer {
    waitFor(server)
    const { keepAliveTimeout } = server
    if (warned || keepAliveTimeout <= 0 || keepAliveTimeout > SHORT_KEEP_ALIVE_MS) return server
    warned = true
    logger.warn(
      { code: 'keep_alive_short', keepAliveTimeout },
      `server.keepAliveTimeout is ${keepAliveTimeout} ms. A callback that is sent as an idle connection closes is lost, ` +
        'for the service does not send it again. Set it longer than the idle time of whatever connects here, ' +
        'for example server.keepAliveTimeout = 75_000.',
    )
    return server
  }

  function isLeftAlone(server: KnownServer): boolean {
    return server.listening && !stopped.has(server)
  }

  /** Whether nothing is to be waited for any more, or when to look again. */
  function judge(): { readonly areClosed: boolean; readonly againMs: number } {
    if (open.size === 0) return { areClosed: true, againMs: 0 }
    // A server that was told to stop takes what comes until its last connection has gone.
    if (![...open.values()].every(isLeftAlone)) return { areClosed: false, againMs: Infinity }
    const quietMs = Math.min(quietFor(), Math.max(0, clock.now() - watchedMs))
    return { areClosed: quietMs >= QUIET_MS, againMs: QUIET_MS - quietMs }
  }

  const servers = {
    areWatched: false,
    open,
    see: (server: unknown) => (isServer(server) ? add(server) : undefined),
    stop(given: readonly Server[], times: StopTimes) {
      for (const server of given) if (server.listening && !open.has(server)) waitFor(server)
      for (const server of open.values()) {
        if (!(server instanceof Server)) continue
        stopped.add(server)
        stopServer(server, clock, times)
      }
    },
    watch(quietMs = quietFor) {
      servers.areWatched = true
      quietFor = quietMs
      if (watchedMs === Infinity) watchedMs = clock.now()
    },
    get keepAliveMs() {
      const timesMs = [...open.values()].flatMap((server) => (isServer(server) ? server.keepAliveTimeout : []))
      return timesMs.length === 0 ? undefined : Math.min(...timesMs.map((ms) => (ms > 0 ? ms : Infinity)))
    },
    get areListening() {
      return [...open.values()].some(isLeftAlone)
    },
    closed(timeoutMs: number) {
      const sinceMs = clock.now()
      return new Promise<boolean>((resolve) => {
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
