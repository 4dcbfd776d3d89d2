/**
 * Puts the receiver before everything that an app does with a request: Nest registers its body parsers in `app.init()`, and
 * `main.ts` can add its own only once the app is there, while modules are made before. Nothing has to be switched off.
 */
import type { IncomingMessage } from 'node:http'
import type { HttpAdapterHost } from '@nestjs/core'
import type { FastifyInstance } from 'fastify'
import { OptionsError, type Middleware } from '../index.ts'
import { normalPath } from './options.ts'

type HttpAdapter = HttpAdapterHost['httpAdapter']

/** By the app's adapter: all receivers of an app share one place before the rest. */
const mounted = new WeakMap<HttpAdapter, Map<string, Middleware>>()

/** Throws an `OptionsError` for a path that another receiver has, and on a platform that is neither Express nor Fastify. */
export function mount(adapter: HttpAdapter, path: string, middleware: Middleware): void {
  const paths = mounted.get(adapter) ?? mountOn(adapter)
  if (paths.has(normalPath(path)))
    throw new OptionsError(`WebhooksModule: two receivers have the path ${path}; each needs its own.`)
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
      `WebhooksModule: the app runs on ${type}. It is mounted on Express and on Fastify; elsewhere inject the receiver, and ` +
        'use receiver.receive() where a request still has its bytes.',
    )
  mounted.set(adapter, paths)
  return paths
}

/** Fastify parses a body after the hooks of a request, and the first of them is middie's, by which `app.use()` works there. */
function mountOnFastify(
  adapter: HttpAdapter,
  receive: Middleware,
  find: (request: IncomingMessage) => Middleware | undefined,
): void {
  const instance = adapter.getInstance<FastifyInstance>()
  // The first of middie's own, where it is registered already. It is not with `skipMiddie`, nor in a testing module.
  if ('use' in instance) adapter.use(receive)
  else
    instance.addHook('onRequest', (request, reply, done) => {
      if (find(request.raw) === undefined) done()
      else {
        // The answer is written by us alone.
        reply.hijack()
        receive(request.raw, reply.raw)
      }
    })
}

/** Without the query; what goes through a proxy may be the whole URL. */
function pathOf(url: string): string {
  const end = url.indexOf('?')
  const whole = end === -1 ? url : url.slice(0, end)
  return whole.startsWith('/') ? whole : whole.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '')
}
