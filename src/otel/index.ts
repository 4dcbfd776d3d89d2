/**
 * Spans and metrics for OpenTelemetry, by its semantic conventions for messaging. It needs the optional peer
 * `@opentelemetry/api`, and does nothing without an SDK.
 *
 * @module messaging-webhooks/otel
 */
import { context, metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api'
import { z } from 'zod'
import { checkOptions, objectLike } from '../runtime/check-options.ts'
import type { Receiver } from '../receiver/surface.ts'
import type { TraceContext } from '../public/trace-context.ts'
import { followAttempts } from './attempts.ts'
import { countCallbacks, observeState } from './gauges.ts'
import { writtenContext } from './span-context.ts'

/** What `openTelemetry` takes. */
export interface OpenTelemetryOptions {
  /** Where spans go. Default: the global one, which an SDK registers. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Where metrics go. Default: the global one, which an SDK registers. */
  readonly meterProvider?: MeterProvider | undefined
}

/** A receiver, as far as telemetry asks it. */
export type ObservedReceiver = Pick<Receiver, 'onError' | 'stats' | 'quarantine'>

/** What `openTelemetry` returns. */
export interface Telemetry {
  /**
   * For the receiver's option of this name: the active span, which is that of the HTTP request where `@opentelemetry/instrumentation-http`
   * or the framework's own instrumentation makes one; undefined where none is active.
   */
  readonly traceContext: () => TraceContext | undefined
  /**
   * From now on each attempt at an event is a span `process <event type>` of kind CONSUMER, active in the handlers and linked to the
   * request that brought the event; and attempts, callbacks, backlog, dead letters, spool and quarantine are metrics. Returns the
   * function that ends it, and the spans that are open then.
   */
  readonly observe: (receiver: ObservedReceiver) => () => void
}

const provider = (method: string) => objectLike('a provider of OpenTelemetry', method).optional()
const optionsSchema = z.strictObject({ tracerProvider: provider('getTracer'), meterProvider: provider('getMeter') })

/** The package's name, as the scope of what is measured. */
const SCOPE = 'messaging-webhooks'

/**
 * Connects receivers with OpenTelemetry. Without an SDK, `observe` makes spans and metrics that nobody gets, and `traceContext` is
 * undefined; with an SDK that is registered after the receiver was observed, spans follow it, and metrics do not: register it first.
 * Nothing names a person: spans have the message's id (at most 256 characters) and the event's; `error.type` is a code of the
 * reference's table. Throws an `OptionsError` for an option that is no provider.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkOptions(optionsSchema, options)
  const { tracerProvider, meterProvider } = options
  return {
    traceContext: () => writtenContext(trace.getSpanContext(context.active())),
    observe(receiver) {
      const meter = (meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE)
      const tracer = (tracerProvider ?? trace.getTracerProvider()).getTracer(SCOPE)
      const stops = [
        followAttempts(receiver, tracer, meter),
        countCallbacks(receiver, meter),
        observeState(receiver, meter),
      ]
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}
