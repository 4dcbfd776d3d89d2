/**
 * Spans and metrics for OpenTelemetry, following its semantic conventions for messaging. Requires the optional peer
 * `@opentelemetry/api`, and does nothing without an SDK.
 *
 * @module messaging-webhooks/otel
 */
import '../runtime/supported-node.ts'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  context,
  isSpanContextValid,
  metrics,
  trace,
  type MeterProvider,
  type SpanContext,
  type TracerProvider,
  type BatchObservableResult,
  type Meter,
} from '@opentelemetry/api'
import { z } from 'zod'
import { checkOptions, objectLike } from '../runtime/check-options.ts'
import type { Receiver } from '../receiver/surface.ts'
import { traceContextOf, type TraceContext } from '../public/callback.ts'
import { followAttempts, harmless } from './attempts.ts'
import { CALLBACK_CHANNEL, type CallbackMessage } from '../public/channels.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import { ATTRIBUTES, instrument } from './names.ts'

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

/** Undefined if there is no valid span. */
function writtenContext(spanContext: SpanContext | undefined): TraceContext | undefined {
  if (spanContext === undefined || !isSpanContextValid(spanContext)) return undefined
  const { traceId, spanId, traceFlags, traceState } = spanContext
  const flags = traceFlags.toString(16).padStart(2, '0')
  return traceContextOf({ traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() })
}

/** Returns a function that unsubscribes. */
function countCallbacks(receiver: object, meter: Meter): () => void {
  const callbacks = meter.createCounter(...instrument('messaging_webhooks.callbacks'))
  const count = harmless((message: unknown) => {
    // Only receivers publish to this channel.
    const { receiver: whose, kind, outcome, code } = message as CallbackMessage
    if (whose !== receiver) return
    callbacks.add(1, {
      [ATTRIBUTES.kind]: kind ?? 'any',
      [ATTRIBUTES.outcome]: outcome,
      ...(code !== undefined && { [ATTRIBUTES.errorType]: code }),
    })
  })
  subscribe(CALLBACK_CHANNEL, count)
  return () => void unsubscribe(CALLBACK_CHANNEL, count)
}

/** Returns a function that unsubscribes. Omits unknown values; an SDK may repeat the last known ones. */
function observeState(receiver: Pick<Receiver, 'stats' | 'quarantine'>, meter: Meter): () => void {
  const storeUp = meter.createObservableGauge(...instrument('messaging_webhooks.store_up'))
  const unsettled = meter.createObservableGauge(...instrument('messaging_webhooks.unsettled'))
  const deadLetters = meter.createObservableGauge(...instrument('messaging_webhooks.dead_letters'))
  const running = meter.createObservableGauge(...instrument('messaging_webhooks.running'))
  const spooled = meter.createObservableGauge(...instrument('messaging_webhooks.spooled'))
  const quarantined = meter.createObservableGauge(...instrument('messaging_webhooks.quarantined'))
  const all = [storeUp, unsettled, deadLetters, running, spooled, quarantined]

  async function observe(result: BatchObservableResult): Promise<void> {
    const stats = await receiver.stats()
    result.observe(storeUp, stats.store === 'up' ? 1 : 0)
    if (stats.unsettled !== undefined) result.observe(unsettled, stats.unsettled)
    if (stats.deadLetters !== undefined) result.observe(deadLetters, stats.deadLetters)
    result.observe(running, stats.running)
    result.observe(spooled, stats.spooled)
    const counts = receiver.quarantine.counts()
    for (const name of QUARANTINE_CLASSES)
      result.observe(quarantined, counts[name], { [ATTRIBUTES.quarantineClass]: name })
  }
  meter.addBatchObservableCallback(observe, all)
  return () => meter.removeBatchObservableCallback(observe, all)
}
