/** Where errors go that nobody waits for: the logger and the handlers of `onError`. */
import { HandlerError, RefusedError, type ErrorCode, type MessagingWebhooksError } from './errors.ts'
import type { Logger } from './logger.ts'

export type ErrorHandler = (error: MessagingWebhooksError) => unknown

interface Reporter {
  report(error: MessagingWebhooksError): void
  /** Returns the function that takes the handler off again. */
  add(handler: ErrorHandler): () => void
}

/** What is worth saying once: the same wrong mounting would be said for every request. */
const ONCE: ReadonlySet<ErrorCode> = new Set(['body_already_parsed', 'clock_failed'])

export function createReporter(logger: Logger): Reporter {
  /** Replaced, never changed: a handler may attach others, or itself again, while they are told. */
  let handlers: readonly { readonly handler: ErrorHandler }[] = []
  const said = new Set<ErrorCode>()

  function failed(): void {
    logger.error({ code: 'on_error_failed' }, 'A handler of onError threw; what it threw was dropped.')
  }

  return {
    report(error) {
      const { code, message } = error
      const isRefusal = error instanceof RefusedError
      if (!isRefusal && ONCE.has(code)) {
        if (said.has(code)) return
        said.add(code)
      }
      // Refusals and what was taken all the same are warnings; a failing handler or store is an error.
      const isWarning = code === 'signature_ignored' || code === 'body_already_parsed'
      const level = isWarning || (isRefusal && error.status < 500) ? 'warn' : 'error'
      logger[level]({ code, ...fieldsOf(error) }, message)
      for (const { handler } of handlers) {
        try {
          void Promise.resolve(handler(error)).catch(failed)
        } catch {
          failed()
        }
      }
    },
    add(handler) {
      const entry = { handler }
      handlers = [...handlers, entry]
      return () => {
        handlers = handlers.filter((other) => other !== entry)
      }
    },
  }
}

/** What a log can be searched for. */
function fieldsOf(error: MessagingWebhooksError): object {
  if (error instanceof RefusedError) return { status: error.status }
  if (!(error instanceof HandlerError)) return {}
  const { eventId, eventType, attempt } = error
  return { eventId, eventType, attempt }
}
