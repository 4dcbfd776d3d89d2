/** Puts the inspector together. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '../runtime/check-options.ts'
import { isOurs, OptionsError } from '../public/errors.ts'
import { failureLine } from '../runtime/failure-text.ts'
import { insideOf, type Inside } from '../receiver/inside.ts'
import { answerNode, answerRequest } from './mounts.ts'
import { guardedAudit, inspectorOptions, type Authorize, type Inspector, type InspectorOptions } from './options.ts'
import { lookAt } from './overview.ts'
import { createRoutes, type InspectedReceiver } from './routes.ts'
import { createRightsOf, createServer, Refused, type Asked } from './server.ts'
import { createStreams } from './stream.ts'

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
  const looking = { ...lookAt(receiver, inside), inside: withStoreErrors(inside) }
  const rightsOf = createRightsOf({
    // The app that mounts it says by `R` what its server calls a request.
    authorize: (asked: Asked) => options.authorize(asked as Parameters<Authorize<R>>[0]),
    logger,
    secrets,
  })
  const streams = createStreams({ clock, looking, quarantine: receiver.quarantine, rightsOf })
  inside.onClosing(streams.close)
  const routes = createRoutes({
    receiver,
    looking,
    audit: guardedAudit(options.audit, logger, secrets),
    openStream: streams.open,
    storeAlone,
  })
  const answerTo = createServer({ routes, rightsOf, logger, secrets })
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

/** What a store rejects with is the store's failure, and is answered as such. */
function withStoreErrors(inside: Inside): Inside {
  const { logger, secrets } = inside

  function told<A extends readonly unknown[], T>(ask: (...given: A) => Promise<T>): (...given: A) => Promise<T> {
    return async (...given) => {
      try {
        return await ask(...given)
      } catch (error) {
        if (isOurs(error)) throw error
        const cause = failureLine(error, secrets())
        logger.error(
          { code: 'inspector_failed', cause },
          `The store failed as the inspector asked it. The cause: ${cause}`,
        )
        const name = error instanceof Error ? error.name : 'what is no error'
        throw new Refused(503, 'store_failed', `The store rejected the question with ${name}. The log has its message.`)
      }
    }
  }

  return {
    ...inside,
    events: told(inside.events),
    deadLetters: told(inside.deadLetters),
    latest: told(inside.latest),
    expected: told(inside.expected),
    sentTo: told(inside.sentTo),
  }
}
