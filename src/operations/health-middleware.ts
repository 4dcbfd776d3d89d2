/** Answers `/livez` and `/readyz` in Express, Connect and node:http. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Middleware } from '../http/node.ts'
import type { ReceiverHealth, HealthWatch } from './health.ts'

/**
 * `/livez` does not query the store. `/readyz` awaits the health; requests within a second share one call to the store. Other paths pass
 * to `next`, or get a 404. `cache-control: no-store` keeps intermediaries from caching.
 */
export function healthMiddleware({ health, isLive }: Pick<HealthWatch, 'health' | 'isLive'>): Middleware {
  return (request, response, next) => {
    const path = pathOf(request)
    if (path !== '/livez' && path !== '/readyz') {
      if (next === undefined) write(request, response, 404, { error: 'Not found. The paths are /livez and /readyz.' })
      else next()
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      write(request, response, 405, { error: 'Only GET and HEAD are allowed.' })
    } else if (path === '/livez') {
      const live = isLive()
      write(request, response, live ? 200 : 503, { live })
    } else void answerReady(request, response, health)
  }
}

async function answerReady(
  request: IncomingMessage,
  response: ServerResponse,
  health: () => Promise<ReceiverHealth>,
): Promise<void> {
  const { ready, working, reasons } = await health()
  // The client may have disconnected.
  if (response.destroyed || response.headersSent) return
  const codes = reasons.map(({ code }) => code)
  write(request, response, ready ? 200 : 503, { ready, working: working ?? null, reasons: codes })
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

function write(request: IncomingMessage, response: ServerResponse, status: number, value: object): void {
  const body = JSON.stringify(value)
  response.statusCode = status
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.setHeader('content-length', Buffer.byteLength(body))
  response.setHeader('cache-control', 'no-store')
  response.end(request.method === 'HEAD' ? undefined : body)
}
