/** Puts the inspector together. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '../check-options.ts'
import { OptionsError } from '../errors.ts'
import { createAssets } from './assets.ts'
import { guardedAudit } from './audit.ts'
import { insideOf } from './inside.ts'
import { lookAt } from './looking.ts'
import { answerNode } from './node.ts'
import { inspectorOptions, type Inspector, type InspectorOptions } from './options.ts'
import type { Asked } from './request.ts'
import type { Authorize } from './rights.ts'
import { createRoutes, type InspectedReceiver } from './routes.ts'
import { createServer } from './server.ts'
import { createStreams } from './stream.ts'
import { answerRequest } from './web.ts'

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
  const { clock, logger, secrets } = inside
  const looking = lookAt(receiver, inside)
  const streams = createStreams({ clock, looking, quarantine: receiver.quarantine })
  inside.onClosing(streams.close)
  const routes = createRoutes({
    receiver,
    looking,
    assets: createAssets(),
    audit: guardedAudit(options.audit, logger, secrets),
    openStream: streams.open,
    storeAlone,
  })
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
