/** Puts the inspector together. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { insideOf } from '../receiver/inside.ts'
import { answerNode, answerRequest } from './mounts.ts'
import { guardedAudit, inspectorOptions, type Authorize, type Inspector, type InspectorOptions } from './options.ts'
import { lookAt, type InspectedReceiver } from './overview.ts'
import { createRoutes } from './routes.ts'
import { createServer } from './server.ts'

/** `storeAlone`: the receiver is not the one that takes callbacks, but looks into its store from another process. */
export function createInspector<R>(
  receiver: InspectedReceiver,
  options: InspectorOptions<R>,
  { storeAlone = false } = {},
): Inspector {
  checkOptions(inspectorOptions, options, 'inspector')
  const inside = insideOf(receiver)
  if (inside === undefined)
    throw new OptionsError('inspector: the first argument is no receiver; expected what createReceiver() returned.')
  const { logger, secrets } = inside
  const looking = lookAt(receiver, inside)
  const audit = guardedAudit(options.audit, logger, secrets)
  const answerTo = createServer({
    routes: createRoutes({ receiver, looking, audit, storeAlone }),
    // The app that mounts it says by `R` what its server calls a request.
    authorize: (asked) => options.authorize(asked as Parameters<Authorize<R>>[0]),
    logger,
    secrets,
  })
  const mount = (options.path ?? '').replace(/\/+$/, '')
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse): void => {
      answerNode(request, response, mount, answerTo).catch(() => {
        // It broke off on its way.
        response.destroy()
      })
    },
    { fetch: (request: Request) => answerRequest(request, mount, answerTo) },
  )
}
