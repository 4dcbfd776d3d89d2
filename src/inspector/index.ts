/**
 * A page on what a receiver takes and hands over: overview, events, each message's timeline, dead letters and quarantine.
 *
 * @module messaging-webhooks/inspector
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { checkOptions, functionLike } from '../check-options.ts'
import { OptionsError } from '../errors.ts'
import type { Receiver } from '../surface.ts'
import { json, problem } from './answer.ts'
import { createAssets } from './assets.ts'
import { insideOf } from './inside.ts'
import { answerNode } from './node.ts'
import { lookAt } from './looking.ts'
import { overview } from './overview.ts'
import type { Asked } from './request.ts'
import type { Authorize } from './rights.ts'
import { createServer, type RouteRow } from './server.ts'
import { createSession } from './session.ts'
import { answerRequest } from './web.ts'

export type { InspectorRequest } from './request.ts'
export type { Authorize, Authorized, Right } from './rights.ts'

/** What `inspector` takes. `R` is what your server calls a request, as `authorize` gets it under `original`. */
export interface InspectorOptions<R = unknown> {
  /**
   * Says who may see the inspector and what they may do: `read`, `write` (replay, discard, reverify) and `reveal` (phone numbers
   * and bodies, masked otherwise); `false`, undefined or anything else is answered 403. Called for each request; where it throws or
   * rejects, the answer is 500 without details. Required: there is no inspector that everybody may see.
   */
  readonly authorize: Authorize<R>
  /**
   * The path that it is mounted under, such as `/webhooks/inspector`, where the server does not take it off: in a Fetch handler
   * and in `node:http`. Express and Connect do. Default: none.
   */
  readonly path?: string | undefined
}

/** The inspector: a listener of Express, Connect and node:http, and a Fetch handler. */
export interface Inspector {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  /** The same for servers that speak `Request` and `Response`. It never rejects. */
  fetch(request: Request): Promise<Response>
}

/** A receiver, whatever its schemas and its store: what `createReceiver` returned. */
export type InspectedReceiver = Pick<Receiver, 'stats' | 'health' | 'quarantine' | 'onError'>

const optionsSchema = z.strictObject({
  authorize: functionLike,
  path: z.string().startsWith('/', 'expected a path that begins with a slash').optional(),
})

/**
 * Makes the inspector of a receiver. From now on it remembers the last attempts, repetitions and troubles of this process, in bounded
 * room; all else it asks the store, when somebody looks. Whatever is shown is masked unless `authorize` allows `reveal`.
 * Throws an `OptionsError` for an option that cannot work, `authorize` missing among them, and for what is no receiver.
 */
export function inspector<R = unknown>(receiver: InspectedReceiver, options: InspectorOptions<R>): Inspector {
  checkOptions(optionsSchema, options, 'inspector')
  const inside = insideOf(receiver)
  if (inside === undefined)
    throw new OptionsError('inspector: the first argument is no receiver; expected what createReceiver() returned.')
  const { logger, secrets } = inside
  const looking = lookAt(receiver, inside)
  const assets = createAssets()
  const session = createSession(inside)

  const routes: readonly RouteRow[] = [
    { method: 'GET', path: '/', run: ({ headers }) => assets.index(headers.get('if-none-match')) },
    {
      method: 'GET',
      path: '/page/:',
      run: ({ headers }, _, [name = '']) =>
        assets.file(name, headers.get('if-none-match')) ?? problem(404, 'not_found', 'The page has no such file.'),
    },
    { method: 'GET', path: '/api/session', run: (_, rights) => json(session(rights)) },
    { method: 'GET', path: '/api/overview', run: async () => json(await overview(receiver, looking)) },
  ]
  const answerTo = createServer({
    routes,
    // Whoever mounts it says by `R` what its server calls a request.
    authorize: (asked: Asked) => options.authorize(asked as Parameters<Authorize<R>>[0]),
    logger,
    secrets,
  })
  const mount = (options.path ?? '').replace(/\/+$/, '')
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse): void => {
      answerNode(request, response, { answerTo, mount }).catch(() => {
        // It broke off on its way.
        response.destroy()
      })
    },
    { fetch: (request: Request) => answerRequest(request, { answerTo, mount }) },
  )
}
