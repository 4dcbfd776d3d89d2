/** Where errors go that nobody waits for: the logger and the handlers of `onError`. */
import { failureLine, failureText } from './failure-text.ts'
import type { ErrorCode } from '../public/error-table.ts'
import { HandlerError, RefusedError, type MessagingWebhooksError } from '../public/errors.ts'
import { silentLogger, type Logger } from './logger.ts'

/** What `onError` takes. What it returns is ignored; what it throws is logged and dropped. */
export type ErrorHandler = (error: MessagingWebhooksError) => unknown

interface Reporter {
  /** `fields`: what else the log can be searched for. */
  report(error: MessagingWebhooksError, fields?: object): void
  /** Returns the function that takes the handler off again. */
  add(handler: ErrorHandler): () => void
}

/** What is worth saying once: the same wrong mounting would be said for every request. */
const ONCE: ReadonlySet<ErrorCode> = new Set(['body_already_parsed', 'clock_failed', 'trace_context_failed'])

/** Somebody's program is to be mended, so the log says where it went wrong; of any other cause it has a line. */
const WITH_STACK: ReadonlySet<ErrorCode> = new Set(['handler_failed', 'dead_letter', 'transaction_failed', 'internal'])

/** `secrets`: keys, which no line of the log may have, whatever a thrown error quotes. */
export function createReporter(logger: Logger, secrets: () => readonly string[]): Reporter {
  /** Replaced, never changed: a handler may attach others, or itself again, while they are told. */
  let handlers: readonly { readonly handler: ErrorHandler }[] = []
  const said = new Set<ErrorCode>()

  function failed(): void {
    logger.error({ code: 'on_error_failed' }, 'A handler of onError threw; what it threw was dropped.')
  }

  function log(error: MessagingWebhooksError, fields: object): void {
    if (logger === silentLogger) return
    const { code, message, cause } = error
    const isRefusal = error instanceof RefusedError
    // Refusals and what was taken all the same are warnings; a failing handler or store is an error.
    const isWarning = code === 'signature_ignored' || code === 'body_already_parsed'
    const level = isWarning || (isRefusal && error.status < 500) ? 'warn' : 'error'
    const all = { code, ...fieldsOf(error), ...fields }
    // A handler may throw undefined, too.
    if (cause === undefined && !('cause' in error)) {
      logger[level](all, message)
      return
    }
    const line = failureLine(cause, secrets())
    const text = WITH_STACK.has(code)
      ? `${message}\n${indented(failureText(cause, secrets()))}`
      : `${message} The cause: ${line}`
    logger[level]({ ...all, cause: line }, text)
  }

  return {
    report(error, fields = {}) {
      if (!(error instanceof RefusedError) && ONCE.has(error.code)) {
        if (said.has(error.code)) return
        said.add(error.code)
      }
      log(error, fields)
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
  const { eventId, eventType, messageId, attempt } = error
  return messageId === undefined ? { eventId, eventType, attempt } : { eventId, eventType, messageId, attempt }
}

/** No line of it can be taken for one of ours. */
function indented(text: string): string {
  return `    ${text.replaceAll('\n', '\n    ')}`
}
