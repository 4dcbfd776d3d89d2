/**
 * Of which trace something is part, in the words of W3C Trace Context: what is kept of it beside an event, and what is believed
 * of it. Knows nothing of who traces.
 */

/** Of which trace a request was part, as W3C Trace Context writes it. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`, in lowercase hexadecimal digits. */
  readonly traceparent: string
  /** What tracing systems add to it; at most 512 printable ASCII characters. */
  readonly tracestate?: string | undefined
}

/** Both ids have at least one digit that is not 0; version ff is none. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/
const TRACESTATE = /^[ -~]{1,512}$/

export function isTracestate(value: unknown): value is string {
  return typeof value === 'string' && TRACESTATE.test(value)
}

/** Undefined for what is none; a tracestate that is none is left out. */
export function traceContextOf(given: {
  readonly traceparent?: unknown
  readonly tracestate?: unknown
}): TraceContext | undefined {
  const { traceparent, tracestate } = given
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  return isTracestate(tracestate) ? { traceparent, tracestate } : { traceparent }
}
