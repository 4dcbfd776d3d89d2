/**
 * Trace contexts in the format of W3C Trace Context: what is stored with an event, and which input is accepted. Independent of
 * any tracing system.
 */

/** The trace of a request, in the format of W3C Trace Context. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`, in lowercase hexadecimal digits. */
  readonly traceparent: string
  /** Data of tracing systems. At most 512 printable ASCII characters. */
  readonly tracestate?: string | undefined
}

/** Both ids must contain a digit other than 0. Version ff is invalid. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/
const TRACESTATE = /^[ -~]{1,512}$/

export function isTracestate(value: unknown): value is string {
  return typeof value === 'string' && TRACESTATE.test(value)
}

/** Undefined for an invalid traceparent. Omits an invalid tracestate. */
export function traceContextOf(given: {
  readonly traceparent?: unknown
  readonly tracestate?: unknown
}): TraceContext | undefined {
  const { traceparent, tracestate } = given
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  return isTracestate(tracestate) ? { traceparent, tracestate } : { traceparent }
}
