/** Between OpenTelemetry's span contexts and the two lines of W3C Trace Context that are kept with an event. */
import { createTraceState, isSpanContextValid, type SpanContext } from '@opentelemetry/api'
import { traceContextOf, type TraceContext } from '../public/trace-context.ts'

/** Undefined where nothing is traced. */
export function writtenContext(spanContext: SpanContext | undefined): TraceContext | undefined {
  if (spanContext === undefined || !isSpanContextValid(spanContext)) return undefined
  const { traceId, spanId, traceFlags, traceState } = spanContext
  const flags = traceFlags.toString(16).padStart(2, '0')
  return traceContextOf({ traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() })
}

/** What a link points at; the other span may have been another process's. */
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
