/** Reports errors that no caller receives: to the logger and the handlers of `onError`. */
import { failureLine, failureText } from './failure-text.ts'
import type { ErrorCode } from '../public/error-table.ts'
import { HandlerError, referenceTo, RefusedError, type MessagingWebhooksError } from '../public/errors.ts'
import { createListeners } from './listeners.ts'
import { silentLogger, type Logger } from './logger.ts'

/** A handler of `onError`. Its result is ignored; its errors are logged and dropped. */
export type ErrorHandler = (error: MessagingWebhooksError) => unknown

/** Errors reported once: a wrong mount would repeat them with every request. */
const ONCE: ReadonlySet<ErrorCode> = new Set(['body_already_parsed', 'trace_context_failed'])

/** Accepted callbacks that show a wrong set-up. */
const WARNINGS: ReadonlySet<ErrorCode> = new Set([
  'signature_ignored',
  'body_already_parsed',
  'kind_differs',
  'word_guessed',
])

/** Errors in code that needs a fix: the log includes the stack. Other causes take one line. */
const WITH_STACK: ReadonlySet<ErrorCode> = new Set(['handler_failed', 'dead_letter', 'transaction_failed', 'internal'])

/** `secrets`: masked in every log line, because thrown errors may quote them. */
export function createReporter(logger: Logger, secrets: () => readonly string[]) {
  /** Copied on change: a handler may add or remove handlers while they are called. */
  let handlers: readonly { readonly handler: ErrorHandler }[] = []
  const watchers = createListeners<ErrorCode>()
  const reported = new Set<ErrorCode>()
  /** Codes logged with the address of their documentation. Only the first line of a code includes it. */
  const referenced = new Set<ErrorCode>()

  function failed(): void {
    logger.error({ code: 'on_error_failed' }, 'A handler of onError threw. Its error was dropped.')
  }

  function log(error: MessagingWebhooksError, fields: object): void {
    if (logger === silentLogger) return
    const { code, message, cause } = error
    const isRefusal = error instanceof RefusedError
    // Refused and accepted requests are warnings. A failing handler or store is an error.
    const isWarning = WARNINGS.has(code)
    const level = isWarning || (isRefusal && error.status < 500) ? 'warn' : 'error'
    const all = { code, ...fieldsOf(error), ...fields }
    const address = ` ${referenceTo(code)}`
    const text = message.replace(address, '')
    const reference = referenced.has(code) ? '' : address
    referenced.add(code)
    // A handler may also throw undefined.
    if (cause === undefined && !('cause' in error)) {
      logger[level](all, text + reference)
      return
    }
    const line = failureLine(cause, secrets())
    const whole = WITH_STACK.has(code)
      ? `${text}${reference}\n${indented(failureText(cause, secrets()))}`
      : `${text} Cause: ${line}${reference}`
    logger[level]({ ...all, cause: line }, whole)
  }

  return {
    /** `fields`: further searchable fields of the log line. */
    report(error: MessagingWebhooksError, fields: object = {}): void {
      watchers.notify(error.code)
      if (!(error instanceof RefusedError) && ONCE.has(error.code)) {
        if (reported.has(error.code)) return
        reported.add(error.code)
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
    /** Adds a part of the receiver that reacts to errors, before their handlers. It must not throw. */
    watch: watchers.add,
    /** Returns a function that removes the handler. */
    add(handler: ErrorHandler): () => void {
      const entry = { handler }
      handlers = [...handlers, entry]
      return () => {
        handlers = handlers.filter((other) => other !== entry)
      }
    },
  }
}

function fieldsOf(error: MessagingWebhooksError): object {
  if (error instanceof RefusedError) {
    const { status, kind = 'any', unverified } = error
    return { status, kind, unverified }
  }
  if (!(error instanceof HandlerError)) return {}
  const { eventId, eventType, messageId, attempt } = error
  return messageId === undefined ? { eventId, eventType, attempt } : { eventId, eventType, messageId, attempt }
}

/** Indents a text, so that no line of it looks like a log line of this package. */
function indented(text: string): string {
  return `    ${text.replaceAll('\n', '\n    ')}`
}
