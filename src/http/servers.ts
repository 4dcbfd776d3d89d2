/** The servers that requests came from: asked for a dangerous setting, and waited for when the receiver closes. */
import type { IncomingMessage } from 'node:http'
import { Server } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { stopServer, type StopTimes } from './stop-server.ts'

/** What we use of a `http.Server`; Node does not document how to come from a socket to it. */
interface SeenServer {
  readonly listening: boolean
  readonly keepAliveTimeout: number
  once(event: 'close', listener: () => void): unknown
}

interface Servers {
  see(request: IncomingMessage): void
  /** True where the request's server takes no new connections: those that it has are of no more use to a client. */
  isStopping(request: IncomingMessage): boolean
  /** Stops them all, the `given` ones too, of which perhaps no request came. */
  stop(given: readonly Server[], times: StopTimes): void
  /** True when all have stopped and closed their connections; false when `timeoutMs` passed before. */
  closed(timeoutMs: number): Promise<boolean>
}

/** Node's own default is 5 s, which is the idle time of many a client, too. */
const SHORT_KEEP_ALIVE_MS = 5_000

export function createServers({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }): Servers {
  const open = new Set<SeenServer | Server>()
  let warned = false
  let resolveClosed = (): void => {}

  function waitFor(server: SeenServer | Server): void {
    open.add(server)
    server.once('close', () => {
      open.delete(server)
      if (open.size === 0) resolveClosed()
    })
  }

  function add(server: SeenServer): void {
    waitFor(server)
    const { keepAliveTimeout } = server
    if (warned || keepAliveTimeout <= 0 || keepAliveTimeout > SHORT_KEEP_ALIVE_MS) return
    warned = true
    logger.warn(
      { code: 'keep_alive_short', keepAliveTimeout },
      `server.keepAliveTimeout is ${keepAliveTimeout} ms. A callback that is sent as an idle connection closes is lost, ` +
        'for the service does not send it again. Set it longer than the idle time of whatever connects here, ' +
        'for example server.keepAliveTimeout = 75_000.',
    )
  }

  return {
    see(request) {
      const server = serverOf(request)
      if (server !== undefined && !open.has(server)) add(server)
    },
    isStopping: (request) => serverOf(request)?.listening === false,
    stop(given, times) {
      for (const server of given) if (server.listening && !open.has(server)) waitFor(server)
      for (const server of open) if (server instanceof Server) stopServer(server, clock, times)
    },
    closed(timeoutMs) {
      if (open.size === 0) return Promise.resolve(true)
      return new Promise((resolve) => {
        const cancel = clock.setTimer(() => resolve(false), timeoutMs, true)
        resolveClosed = () => {
          cancel()
          resolve(true)
        }
      })
    },
  }
}

function serverOf({ socket }: IncomingMessage): SeenServer | undefined {
  return 'server' in socket && isServer(socket.server) ? socket.server : undefined
}

function isServer(value: unknown): value is SeenServer {
  return typeof value === 'object' && value !== null && 'keepAliveTimeout' in value && 'listening' in value
}
