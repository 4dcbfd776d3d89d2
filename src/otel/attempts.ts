/** Creates a span and a duration for each attempt at an event, from the receiver's diagnostics channel. */
import { tracingChannel } from 'node:diagnostics_channel'
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  context,
  createTraceState,
  diag,
  trace,
  type Attributes,
  type Meter,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'
import { ATTEMPT_CHANNEL, type AttemptMessage } from '../public/channels.ts'
import type { TraceContext } from '../public/callback.ts'
import { monotonicMs } from '../runtime/clock.ts'
import type { HandlerErrorCode } from '../public/error-table.ts'
import { HandlerError } from '../public/errors.ts'
import type { Receiver } from '../receiver/surface.ts'
import { ATTRIBUTES, DURATION_BOUNDARIES, instrument, PROCESS, SYSTEM } from './names.ts'

interface Attempt {
  readonly eventId: string
  readonly span: Span
  /** Labels of the metrics. A sender chooses none of their values. */
  readonly labels: Attributes
  readonly beganMs: number
  /** The code of the last error that the receiver reported for the attempt. */
  code: HandlerErrorCode | undefined
}

/** Message ids may have any length, so they are cut. */
const LONGEST_ID = 256

/** An error thrown by a subscriber would end the process, so log it instead. */
export function harmless<T extends readonly unknown[]>(listen: (...args: T) => void): (...args: T) => void {
  return (...args) => {
    try {
      listen(...args)
    } catch (error) {
      diag.error('messaging-webhooks: telemetry failed. Events are not affected.', error)
    }
  }
}

/** Returns a function that unsubscribes and ends open spans. */
export function followAttempts(receiver: Pick<Receiver, 'onError'>, tracer: Tracer, meter: Meter): () => void {
  const [durationName, durationOptions] = instrument('messaging.process.duration')
  const durations = meter.createHistogram(durationName, {
    ...durationOptions,
    advice: { explicitBucketBoundaries: DURATION_BOUNDARIES },
  })
  const consumed = meter.createCounter(...instrument('messaging.client.consumed.messages'))
  const open = new Map<string, Attempt>()
  const byMessage = new WeakMap<AttemptMessage, Attempt>()
  const channel = tracingChannel<unknown, AttemptMessage>(ATTEMPT_CHANNEL)

  function begin(message: AttemptMessage): void {
    const { event } = message
    // A handler may modify the event.
    const { id, type } = event
    const labels = { [ATTRIBUTES.system]: SYSTEM, [ATTRIBUTES.operationName]: PROCESS, [ATTRIBUTES.destination]: type }
    const request = message.trace && linkedContext(message.trace)
    const span = tracer.startSpan(
      `${PROCESS} ${type}`,
      {
        kind: SpanKind.CONSUMER,
        ...(request && { links: [{ context: request }] }),
        attributes: {
          ...labels,
          [ATTRIBUTES.operationType]: PROCESS,
          ...('messageId' in event && { [ATTRIBUTES.messageId]: event.messageId.slice(0, LONGEST_ID) }),
          [ATTRIBUTES.eventId]: id,
          [ATTRIBUTES.attempt]: message.attempt,
          ...(message.replay && { [ATTRIBUTES.replay]: true }),
        },
      },
      // Not the active context: another request may have triggered the dispatch.
      ROOT_CONTEXT,
    )
    const attempt: Attempt = { eventId: id, span, labels, beganMs: monotonicMs(), code: undefined }
    open.set(id, attempt)
    byMessage.set(message, attempt)
    const active = trace.setSpan(ROOT_CONTEXT, span)
    const inner = message.within
    message.within = (run) => context.with(active, inner === undefined ? run : () => inner(run))
  }

  function end(attempt: Attempt, code: HandlerErrorCode | undefined): void {
    // The attempt has already ended, by a timeout or a lost lease.
    if (open.get(attempt.eventId) !== attempt) return
    open.delete(attempt.eventId)
    const { span, labels, beganMs } = attempt
    const attributes = code === undefined ? labels : { ...labels, [ATTRIBUTES.errorType]: code }
    durations.record((monotonicMs() - beganMs) / 1_000, attributes)
    consumed.add(1, attributes)
    if (code !== undefined) {
      span.setAttribute(ATTRIBUTES.errorType, code)
      // Set no message: the error of a handler may quote a number or a text.
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end()
  }

  /** An asynchronous handler publishes `end` first, without an outcome, and `asyncEnd` when it settles. */
  function over(message: AttemptMessage): void {
    const attempt = byMessage.get(message)
    if (attempt === undefined || message.outcome === undefined) return
    if (message.outcome === 'failed') end(attempt, attempt.code ?? 'handler_failed')
    else end(attempt, message.outcome === 'lost' ? 'lease_lost' : undefined)
  }

  const subscribers = {
    start: harmless((message: AttemptMessage) => {
      if (message.receiver === receiver) begin(message)
    }),
    end: harmless(over),
    asyncStart() {},
    asyncEnd: harmless(over),
    error() {},
  }
  channel.subscribe(subscribers)
  const stopObserving = receiver.onError(
    harmless((error) => {
      if (!(error instanceof HandlerError)) return
      const attempt = open.get(error.eventId)
      if (attempt === undefined) return
      attempt.code = error.code
      // The handler may never settle, and its result is ignored.
      if (error.code === 'handler_timeout' || error.code === 'lease_lost') end(attempt, error.code)
    }),
  )

  return () => {
    channel.unsubscribe(subscribers)
    stopObserving()
    for (const { span } of open.values()) span.end()
    open.clear()
  }
}

/** The target of a link. Marked as remote, because its span may belong to another process. */
function linkedContext({ traceparent, tracestate }: TraceContext): SpanContext | undefined {
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
