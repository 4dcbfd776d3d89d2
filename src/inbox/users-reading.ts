/**
 * Calls the user's functions for a callback. If one throws or returns an invalid value, that is reported and the default
 * applies.
 */
import { MessagingWebhooksError } from '../public/errors.ts'
import type { DedupeKeyInput, NewEventOptions, ProvenCallback } from './new-event.ts'
import type { ReportPayload } from '../carriers/report.ts'
import { usersReport, type ReadUsersReport } from '../carriers/users-report.ts'
import { letReject } from '../runtime/values.ts'
import { isTracestate, traceContextOf, type TraceContext } from '../public/trace-context.ts'

interface UsersFunctions {
  /** Typed as returning a string, but called from JavaScript as well. */
  readonly dedupeKey: ((callback: DedupeKeyInput) => unknown) | undefined
  readonly readReport: ReadUsersReport | undefined
  readonly traceContext: (() => unknown) | undefined
  readonly report: (error: MessagingWebhooksError) => void
}

interface GuardedFunctions extends Pick<NewEventOptions, 'dedupeKey' | 'readReport'> {
  readonly traceContext: (() => TraceContext | undefined) | undefined
}

/** The returned functions never throw. Each is undefined if the user gave none. */
export function guardReading(given: UsersFunctions): GuardedFunctions {
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
    dedupeKey: dedupeKey && ((callback) => chooseKey(dedupeKey, callback)),
    readReport: readReport && ((callback) => readTheirs(readReport, callback)),
    traceContext: traceContext && (() => askTrace(traceContext)),
  }
}
