/**
 * An app as its users have it: the SDK, the HTTP instrumentation, a receiver on an SQLite file. Its parent decides whether it
 * dispatches, and requests the spans.
 */
import { createRequire } from 'node:module'
import { trace } from '@opentelemetry/api'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import type { AppSpan, TracedAppSettings } from '../traced-app.ts'

const exporter = new InMemorySpanExporter()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
provider.register()
new HttpInstrumentation().setTracerProvider(provider)
// The instrumentation patches modules that are loaded with `require`.
createRequire(import.meta.url)('node:http')

const { default: http } = await import('node:http')
const { createReceiver } = await import('../../../src/index.ts')
const { openTelemetry } = await import('../../../src/otel/index.ts')
const { sqliteStore } = await import('../../../src/stores/sqlite/store.ts')

const { path, dispatch, fails, authKey } = JSON.parse(process.argv[2] ?? '') as TracedAppSettings
const telemetry = openTelemetry()
const receiver = createReceiver({
  credentials: { authKey },
  store: sqliteStore(path),
  dispatch,
  logger: false,
  retry: { attempts: 5, initialDelayMs: 0, maxDelayMs: 0 },
  traceContext: telemetry.traceContext,
})
telemetry.observe(receiver)
receiver.on('message.*', async (_event, { attempt }) => {
  await trace.getTracer('of the app').startActiveSpan('look up', async (span) => {
    await new Promise(setImmediate)
    span.end()
  })
  if (fails && attempt === 1) throw new Error('not at once')
})
const server = http.createServer(receiver.middleware('status'))
await receiver.start()
server.listen(0, '127.0.0.1', () => process.send?.({ address: server.address() }))

process.on('message', () => {
  void answer()
})

async function answer(): Promise<void> {
  if (dispatch) await receiver.drain()
  const spans = exporter.getFinishedSpans().map((span): AppSpan => ({
    name: span.name,
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    links: span.links.map(({ context }) => [context.traceId, context.spanId, context.traceState?.serialize()]),
    errorType: span.attributes['error.type']?.toString(),
  }))
  process.send?.({ spans })
}
