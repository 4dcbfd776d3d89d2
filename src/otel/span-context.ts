/** Converts between OpenTelemetry's span contexts and the W3C Trace Context that is stored with an event. */
import { createTraceState, isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import { traceContextOf, type TraceContext } from '../public/trace-context.ts'

/** Undefined if there is no valid span. */
export function writtenContext(spanContext: SpanContext | undefined): TraceContext | undefined {
  if (spanContext === undefined || !isSpanContextValid(spanContext)) return undefined
  const { traceId, spanId, traceFlags, traceState } = spanContext
  const flags = traceFlags.toString(16).padStart(2, '0')
  return traceContextOf({ traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() })
}

/** The target of a link. Marked as remote, because its span may belong to another process. */
export function linkedContext({ traceparent, tracestate }: TraceContext): SpanContext | undefined {
  const [, traceId, spanId, flags] = traceparent.split('-')
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  }
}
