/** A receiver observed by OpenTelemetry's own SDK, which exports to memory. */
import { context, trace, ROOT_CONTEXT, SpanStatusCode, type Span, type TracerProvider } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace-node'
import { createReceiver } from 'messaging-webhooks'
import { openTelemetry } from 'messaging-webhooks/otel'
import { signCallback } from 'messaging-webhooks/testing'
import { onTestFinished } from 'vitest'
import { isFakeClock, letTimePass } from '../support/fake-clock.ts'
import { AUTH_KEY, SIGNING_SECRET, withCredentials, type SomeOptions } from '../support/receiving.ts'

/** The SDK, until the test ends. */
export function withSdk({ sampler }: { readonly sampler?: Sampler } = {}) {
  const spans = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(spans)],
    ...(sampler && { sampler }),
  })
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 2 ** 30 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  // Other tests share the process.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(async () => {
    context.disable()
    await tracerProvider.shutdown()
    await meterProvider.shutdown()
  })
  const tracer = tracerProvider.getTracer('of the test')

  return {
    tracerProvider,
    meterProvider,
    tracer,
    /** The spans of attempts, in the order in which they ended. */
    attempts: () => spans.getFinishedSpans().filter(({ name }) => name.startsWith('process ')),
    /** The data points of a metric: the attributes and value of each, or the count of a histogram. */
    async points(name: string): Promise<readonly (readonly [attributes: object, value: number])[]> {
      await reader.forceFlush()
      const latest = metrics.getMetrics().at(-1)
      const found = latest?.scopeMetrics
        .flatMap((scope) => scope.metrics)
        .filter(({ descriptor }) => descriptor.name === name)
      return (found ?? []).flatMap(({ dataPoints }) =>
        dataPoints.map(
          ({ attributes, value }) => [attributes, typeof value === 'number' ? value : value.count] as const,
        ),
      )
    },
    async allMetrics(): Promise<string> {
      await reader.forceFlush()
      return JSON.stringify(metrics.getMetrics().map(({ scopeMetrics }) => scopeMetrics))
    },
  }
}

type Sdk = ReturnType<typeof withSdk>

/** A receiver that is observed until the test ends or stops it. */
export function observed(
  sdk: Omit<Sdk, 'tracerProvider'> & { readonly tracerProvider: TracerProvider },
  options: SomeOptions = {},
) {
  const telemetry = openTelemetry({ tracerProvider: sdk.tracerProvider, meterProvider: sdk.meterProvider })
  const receiver = createReceiver({
    logger: false,
    traceContext: telemetry.traceContext,
    ...withCredentials(options),
  })
  const stop = telemetry.observe(receiver)
  onTestFinished(async () => {
    stop()
    const closed = receiver.close({ deadlineMs: 0 })
    if (isFakeClock(options.clock)) await letTimePass(options.clock, closed)
    await closed
  })

  /** Posts a callback in its own span, as the HTTP instrumentation does for each request; returns the span. */
  async function bring(body: object): Promise<Span> {
    const bytes = Buffer.from(JSON.stringify({ ...body, authKey: AUTH_KEY }))
    const request = sdk.tracer.startSpan('POST /webhooks/status', {}, ROOT_CONTEXT)
    const headers = { 'x-service-signature': signCallback(bytes, SIGNING_SECRET) }
    const { status } = await context.with(trace.setSpan(ROOT_CONTEXT, request), () =>
      receiver.receive({ kind: 'status', method: 'POST', headers, body: bytes }),
    )
    request.setAttribute('http.response.status_code', status)
    request.end()
    return request
  }

  return { receiver, telemetry, stop, bring }
}

/** The targets of a span's links. */
export function linksOf({ links }: ReadableSpan): readonly string[] {
  return links.map(({ context: { traceId, spanId, traceFlags } }) => `${traceId} ${spanId} ${traceFlags}`)
}

export function linkTo(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `${traceId} ${spanId} ${traceFlags}`
}

/** How each attempt ended: its number, and the code of its error. */
export function outcomes(spans: readonly ReadableSpan[]): readonly string[] {
  return spans.map(({ attributes, status }) => {
    const [attempt, error] = [attributes['messaging_webhooks.attempt'], attributes['error.type']]
    const isError = status.code === SpanStatusCode.ERROR
    return `${String(attempt)} ${typeof error === 'string' ? error : 'well'}${isError === (error !== undefined) ? '' : ' of another status'}`
  })
}
