/**
 * Mounts the receiver before every body parser. Nest registers its body parsers in `app.init()`, and `main.ts` adds its own
 * after the app is created; modules are created before both. No parser has to be disabled.
 */
import type { IncomingMessage } from 'node:http'
import type { HttpAdapterHost } from '@nestjs/core'
import type { FastifyInstance } from 'fastify'
import { OptionsError, type Middleware } from '../index.ts'
import { normalPath } from './options.ts'

type HttpAdapter = HttpAdapterHost['httpAdapter']

/** The mounted paths by adapter: all receivers of an app share one position before other middleware. */
const mounted = new WeakMap<HttpAdapter, Map<string, Middleware>>()

/** Throws an `OptionsError` if another receiver has the path, or if the platform is neither Express nor Fastify. */
export function mount(adapter: HttpAdapter, path: string, middleware: Middleware): void {
  const paths = mounted.get(adapter) ?? mountOn(adapter)
  if (paths.has(normalPath(path)))
    throw new OptionsError(`WebhooksModule: two receivers have the path ${path}. Give each its own path.`)
  paths.set(normalPath(path), middleware)
}

function mountOn(adapter: HttpAdapter): Map<string, Middleware> {
  const paths = new Map<string, Middleware>()
  const find = ({ url }: IncomingMessage): Middleware | undefined => paths.get(normalPath(pathOf(url ?? '')))
  const receive: Middleware = (request, response, next) => {
    const found = find(request)
    if (found === undefined) next?.()
    else found(request, response)
  }
  const type = adapter.getType()
  if (type === 'express') adapter.use(receive)
  else if (type === 'fastify') mountOnFastify(adapter, receive, find)
  else
    throw new OptionsError(
      `WebhooksModule: the app runs on ${type}, which is not supported. Use Express or Fastify, or inject the receiver and ` +
        'call receiver.receive() with the bytes of a request.',
    )
  mounted.set(adapter, paths)
  return paths
}

/** Fastify parses a body after the request hooks. The first hook is middie's, which implements `app.use()`. */
function mountOnFastify(
  adapter: HttpAdapter,
  receive: Middleware,
  find: (request: IncomingMessage) => Middleware | undefined,
): void {
  const instance = adapter.getInstance<FastifyInstance>()
  // With middie, register its first middleware. Apps with `skipMiddie` and testing modules have no middie.
  if ('use' in instance) adapter.use(receive)
  else
    instance.addHook('onRequest', (request, reply, done) => {
      if (find(request.raw) === undefined) done()
      else {
        // The receiver writes the response itself.
        reply.hijack()
        receive(request.raw, reply.raw)
      }
    })
}

/** Removes the query. Behind a proxy, the URL may be absolute. */
function pathOf(url: string): string {
  const end = url.indexOf('?')
  const whole = end === -1 ? url : url.slice(0, end)
  return whole.startsWith('/') ? whole : whole.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '')
}
