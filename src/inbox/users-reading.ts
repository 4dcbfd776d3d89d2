/**
 * Calls the user's functions for a callback. If one throws or returns an invalid value, that is reported and the default
 * applies.
 */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { DedupeKeyInput, ProvenCallback } from './new-event.ts'
import { readSms, type ReportPayload } from '../carriers/report.ts'
import { letReject, isPromiseLike, isRecord } from '../runtime/values.ts'
import { isTracestate, traceContextOf, type TraceContext } from '../public/callback.ts'
import { payloadIn } from '../messages/event-record.ts'
import type { CallbackKind } from '../public/events.ts'
import { REPORT_SHAPES, type ReportShape } from '../public/report-payloads.ts'

interface UsersFunctions {
  /** Typed as returning a string, but called from JavaScript as well. */
  readonly dedupeKey: ((callback: DedupeKeyInput) => unknown) | undefined
  readonly readReport: ReadUsersReport | undefined
  readonly traceContext: (() => unknown) | undefined
  readonly report: (error: MessagingWebhooksError) => void
}

/** The returned functions never throw. Each is undefined if the user gave none. */
export function guardReading(given: UsersFunctions) {
  const { dedupeKey, readReport, traceContext, report } = given

  function chooseKey(choose: (callback: DedupeKeyInput) => unknown, callback: DedupeKeyInput): string | undefined {
    try {
      // A copy, so that the function cannot change the stored bytes.
      const chosen = choose({ ...callback, raw: Buffer.from(callback.raw) })
      if (chosen === undefined || (typeof chosen === 'string' && chosen !== '')) return chosen
      letReject(chosen)
      report(new MessagingWebhooksError('dedupe_key_failed'))
    } catch (error) {
      report(new MessagingWebhooksError('dedupe_key_failed', undefined, { cause: error }))
    }
    return undefined
  }

  function readTheirs(read: ReadUsersReport, { masked, kind, arrivedAtMs }: ProvenCallback): ReportPayload | undefined {
    try {
      return usersReport(read, { masked, kind, nowMs: arrivedAtMs })
    } catch (error) {
      report(new MessagingWebhooksError('read_report_failed', undefined, { cause: error }))
      return undefined
    }
  }

  function askTrace(ask: () => unknown): TraceContext | undefined {
    try {
      const context = ask()
      if (context === undefined) return undefined
      if (typeof context !== 'object' || context === null) {
        report(new MessagingWebhooksError('trace_context_failed'))
        return undefined
      }
      letReject(context)
      const { traceparent, tracestate }: { readonly traceparent?: unknown; readonly tracestate?: unknown } = context
      const read = traceContextOf({ traceparent, tracestate })
      const isWhole = read !== undefined && (tracestate === undefined || isTracestate(tracestate))
      if (!isWhole) report(new MessagingWebhooksError('trace_context_failed'))
      return read
    } catch (error) {
      report(new MessagingWebhooksError('trace_context_failed', undefined, { cause: error }))
      return undefined
    }
  }

  return {
    dedupeKey: dedupeKey && ((callback: DedupeKeyInput) => chooseKey(dedupeKey, callback)),
    readReport: readReport && ((callback: ProvenCallback) => readTheirs(readReport, callback)),
    traceContext: traceContext && (() => askTrace(traceContext)),
  }
}

/** The result of `readReport` for a payload that is a delivery report. */
export interface UsersReport {
  readonly messageId: string
  /** The sender's word. May be missing if there is a `statusCode`. */
  readonly status?: string | undefined
  /** A code of the contract's table. */
  readonly statusCode?: number | undefined
  /** Unix seconds. Default: the signature's time, otherwise the arrival. */
  readonly timestamp?: number | undefined
  readonly network?: string | undefined
  /** The vocabulary of `status`. Default: `chat-app` if the payload has `statuses`, otherwise `sms`. */
  readonly shape?: ReportShape | undefined
}

/** The option `readReport`: reads a report of a custom shape. Return undefined if the payload is not a report. */
export type ReadUsersReport = (
  payload: Readonly<Record<string, unknown>>,
  kind: CallbackKind | undefined,
) => UsersReport | undefined

interface Given {
  /** The body with its authKey masked. The function gets a copy and may change it. */
  readonly masked: Buffer
  readonly kind: CallbackKind | undefined
  readonly nowMs: number
}

/**
 * Returns undefined if the function recognises no report or the body is not an object. Throws what the function throws, and a
 * `TypeError` if it returns anything else.
 */
function usersReport(read: ReadUsersReport, { masked, kind, nowMs }: Given): ReportPayload | undefined {
  const payload = payloadIn(masked)
  if (!isRecord(payload)) return undefined
  // The function may change its copy.
  const { channel } = payload
  const likelyShape: ReportShape = Object.hasOwn(payload, 'statuses') ? 'chat-app' : 'sms'
  const answer: unknown = read(payload, kind)
  if (answer === undefined || answer === null) return undefined
  if (isPromiseLike(answer)) {
    letReject(answer)
    throw new TypeError('readReport returned a promise; it must return the report synchronously.')
  }
  if (!isRecord(answer)) throw new TypeError('readReport must return an object or undefined.')
  // A copy: a getter may return another value the next time.
  const { shape: givenShape = likelyShape, ...fields } = answer
  const shape = REPORT_SHAPES.find((each) => each === givenShape)
  if (shape === undefined) throw new TypeError(`readReport returned a shape other than ${REPORT_SHAPES.join(' and ')}.`)
  const report = readSms({ ...fields, channel }, nowMs, () => '{}')
  if (typeof report === 'string') throw new TypeError(`readReport returned no usable report (${report}).`)
  return { ...report, shape }
}
