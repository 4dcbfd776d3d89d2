/**
 * Spans and metrics for OpenTelemetry, following its semantic conventions for messaging. Requires the optional peer
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

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Receives spans. Default: the global provider, which an SDK registers. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Receives metrics. Default: the global provider, which an SDK registers. */
  readonly meterProvider?: MeterProvider | undefined
}

/** The part of a receiver that telemetry uses. */
export type ObservedReceiver = Pick<Receiver, 'onError' | 'stats' | 'quarantine'>

/** The result of `openTelemetry`. */
export interface Telemetry {
  /**
   * Pass it to the receiver as the option `traceContext`. Returns the active span: that of the HTTP request, if
   * `@opentelemetry/instrumentation-http` or the framework's instrumentation creates one. Undefined if no span is active.
   */
  readonly traceContext: () => TraceContext | undefined
  /**
   * Starts telemetry of a receiver. Each attempt at an event is a span `process <event type>` of kind CONSUMER, active in the
   * handlers and linked to the request that delivered the event. Attempts, callbacks, backlog, dead letters, spool and
   * quarantine are metrics. Returns a function that stops telemetry and ends open spans.
   */
  readonly observe: (receiver: ObservedReceiver) => () => void
}

const provider = (method: string) => objectLike('a provider of OpenTelemetry', method).optional()
const optionsSchema = z.strictObject({ tracerProvider: provider('getTracer'), meterProvider: provider('getMeter') })

/** Instrumentation scope: the name of the package. */
const SCOPE = 'messaging-webhooks'

/**
 * Connects receivers with OpenTelemetry. Register the SDK before observing a receiver: spans appear after a later registration,
 * but metrics do not. Without an SDK, `observe` has no effect and `traceContext` returns undefined. Spans and metrics contain
 * no personal data: spans have the ids of the message (at most 256 characters) and of the event; `error.type` is an error code
 * of the reference. Throws an `OptionsError` for an invalid provider.
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
