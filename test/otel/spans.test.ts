/** Spans of attempts, made by OpenTelemetry's own SDK. */
import { context, createTraceState, ROOT_CONTEXT, SpanKind, trace, TraceFlags } from '@opentelemetry/api'
import { AlwaysOnSampler, SamplingDecision } from '@opentelemetry/sdk-trace-node'
import { createReceiver, memoryStore } from 'messaging-webhooks'
import { openTelemetry } from 'messaging-webhooks/otel'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock, letTimePass } from '../support/fake-clock.ts'
import { AUTH_KEY, withCredentials } from '../support/receiving.ts'
import { linksOf, linkTo, observed, outcomes, withSdk } from './observed.ts'
import { gate } from '../support/gate.ts'

const ONCE_MORE = { attempts: 2, initialDelayMs: 0, maxDelayMs: 0 }

test('an attempt is a span in its own trace, with the attributes of the semantic conventions', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk)
  const request = await bring(callback.smsDelivery({ messageId: 'm1' }))
  await receiver.drain()
  const [attempt] = sdk.attempts()
  expect(attempt?.name).toBe('process message.delivered')
  expect(attempt?.kind).toBe(SpanKind.CONSUMER)
  expect(attempt?.parentSpanContext).toBeUndefined()
  expect(attempt?.spanContext().traceId).not.toBe(request.spanContext().traceId)
  expect(attempt?.attributes).toEqual({
    'messaging.system': 'messaging_webhooks',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'message.delivered',
    'messaging.message.id': 'm1',
    'messaging_webhooks.event.id': expect.stringMatching(/^[\da-f]{32}$/) as string,
    'messaging_webhooks.attempt': 1,
  })
})

test('each of several concurrent requests is linked only from its own event', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk)
  receiver.on('message.*', () => Promise.resolve())
  const ids = Array.from({ length: 30 }, (_, index) => `m${index}`)
  const requests = await Promise.all(ids.map((messageId) => bring(callback.smsDelivery({ messageId }))))
  await receiver.drain()
  const found = new Map(sdk.attempts().map((span) => [span.attributes['messaging.message.id'], linksOf(span)]))
  expect(found).toEqual(new Map(ids.map((id, index) => [id, requests.slice(index, index + 1).map(linkTo)])))
})

test('each attempt is a span, including the one that dead-letters the event and its replay', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk, { retry: ONCE_MORE })
  let fails = true
  receiver.on('message.*', () => {
    if (fails) throw new Error('of +254711000000')
  })
  const request = await bring(callback.smsDelivery())
  await receiver.drain()
  expect(outcomes(sdk.attempts())).toEqual(['1 handler_failed', '2 dead_letter'])
  const { items } = await receiver.deadLetters.list()
  fails = false
  for (const { id } of items) await receiver.deadLetters.replay(id)
  await receiver.drain()
  expect(outcomes(sdk.attempts()).slice(2)).toEqual(['1 well'])
  expect(sdk.attempts().map(({ attributes }) => attributes['messaging_webhooks.replay'])).toEqual([
    undefined,
    undefined,
    true,
  ])
  expect(sdk.attempts().map(linksOf)).toEqual(Array.from({ length: 3 }, () => [linkTo(request)]))
})

test('ends the span of a handler at its timeout, and only once', async () => {
  const sdk = withSdk()
  const clock = fakeClock()
  const { receiver, bring } = observed(sdk, { clock, handlerTimeoutMs: 1_000 })
  const { open: release, opened: released } = gate()
  receiver.on('message.*', () => released)
  await bring(callback.smsDelivery())
  await letTimePass(clock, expect.poll(() => outcomes(sdk.attempts())).toEqual(['1 handler_timeout']))
  release()
  await letTimePass(clock, receiver.drain())
  expect(outcomes(sdk.attempts())).toEqual(['1 handler_timeout'])
})

test('ends the span of an attempt when its lease is lost', async () => {
  const sdk = withSdk()
  const clock = fakeClock()
  let isHeld = true
  const { capabilities, open } = memoryStore()
  const store = {
    capabilities: { ...capabilities, shared: true },
    open: async (host: Parameters<typeof open>[0]) => ({ ...(await open(host)), isHeld: () => isHeld }),
  }
  const { receiver, bring } = observed(sdk, { clock, store, spool: false })
  const { open: release, opened: released } = gate()
  receiver.on('message.*', () => released)
  await bring(callback.smsDelivery())
  await clock.advance(10)
  isHeld = false
  await letTimePass(clock, expect.poll(() => outcomes(sdk.attempts())).toEqual(['1 lease_lost']))
  isHeld = true
  release()
})

test('links to an unsampled request, which does not decide the sampling of the attempt', async () => {
  // The request's span is not sampled, all others are.
  const always = new AlwaysOnSampler()
  const sdk = withSdk({
    sampler: {
      shouldSample: (_, __, name) =>
        name.startsWith('POST') ? { decision: SamplingDecision.NOT_RECORD } : always.shouldSample(),
      toString: () => 'of the test',
    },
  })
  const { receiver, bring } = observed(sdk)
  const request = await bring(callback.smsDelivery())
  expect(request.spanContext().traceFlags).toBe(TraceFlags.NONE)
  await receiver.drain()
  expect(sdk.attempts().map(linksOf)).toEqual([[linkTo(request)]])
})

test('keeps tracestate and the other flag bits', async () => {
  const sdk = withSdk()
  const { receiver, telemetry } = observed(sdk)
  const given = {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    traceFlags: 3,
    traceState: createTraceState('vendor=value,other=1'),
  }
  expect(context.with(trace.setSpanContext(ROOT_CONTEXT, given), telemetry.traceContext)).toEqual({
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03',
    tracestate: 'vendor=value,other=1',
  })
  expect(telemetry.traceContext()).toBeUndefined()
  await receiver.start()
})

test('adds no link without a traced request or without `traceContext`', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk, { traceContext: undefined })
  await bring(callback.smsDelivery())
  await receiver.drain()
  expect(sdk.attempts().map(linksOf)).toEqual([[]])
})

test('spans and metrics contain nothing of a body except the message id, and no text of a handler’s error', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk, { retry: ONCE_MORE })
  receiver.on('message.*', ({ recipient, payload }) => {
    throw new Error(`for ${String(recipient)}: ${JSON.stringify(payload)}`)
  })
  const marks = Object.fromEntries(
    ['recipient', 'phoneNumber', 'text', 'status', 'network', 'channel', 'project'].map((name) => [
      name,
      `marked ${name}`,
    ]),
  )
  await bring({ ...callback.smsDelivery({ messageId: 'm'.repeat(1_000) }), ...marks })
  await bring({ ...marks, anything: 'marked' })
  await receiver.drain()
  const seen = sdk
    .attempts()
    .map(({ name, attributes, links, events, status }) => ({ name, attributes, links, events, status }))
  expect(seen.length).toBeGreaterThan(2)
  const all = JSON.stringify(seen) + (await sdk.allMetrics())
  expect(all).not.toMatch(/marked/)
  expect(all).not.toContain(AUTH_KEY)
  expect(all).toContain('m'.repeat(256))
  expect(all).not.toContain('m'.repeat(257))
})

test('ends open spans once stopped, creates no more, counts nothing, and does not query the receiver', async () => {
  const sdk = withSdk()
  const { receiver, bring, stop } = observed(sdk)
  const { open: release, opened: released } = gate()
  receiver.on('message.*', () => released)
  await bring(callback.smsDelivery())
  await expect.poll(() => sdk.points('messaging_webhooks.running')).toEqual([[{}, 1]])
  expect(sdk.attempts()).toEqual([])
  stop()
  expect(outcomes(sdk.attempts())).toEqual(['1 well'])
  release()
  await receiver.drain()
  await bring(callback.smsDelivery())
  await receiver.drain()
  expect(sdk.attempts()).toHaveLength(1)
  // The SDK repeats the last value it received.
  expect(await sdk.points('messaging_webhooks.running')).toEqual([[{}, 1]])
  expect((await sdk.points('messaging_webhooks.callbacks')).map(([, value]) => value)).toEqual([1])
})

test('does not observe another receiver of the process', async () => {
  const sdk = withSdk()
  observed(sdk)
  const other = observed(sdk)
  other.stop()
  await other.bring(callback.smsDelivery())
  await other.receiver.drain()
  expect(sdk.attempts()).toEqual([])
  expect(await sdk.points('messaging_webhooks.callbacks')).toEqual([])
})

test('refuses an option that is not a provider', () => {
  // @ts-expect-error: JavaScript has no types.
  expect(() => openTelemetry({ tracerProvider: {} })).toThrow(/tracerProvider.*expected a provider of OpenTelemetry/)
  // @ts-expect-error: an unknown name.
  expect(() => openTelemetry({ meter: {} })).toThrow(/meterProvider/)
})

test('an SDK that always throws does not keep events from handlers', async () => {
  const throwing: object = new Proxy(() => {}, {
    get: () => () => {
      throw new Error('of the SDK')
    },
  })
  const sdk = withSdk()
  const { receiver, bring } = observed({
    ...sdk,
    // @ts-expect-error: it is not a provider.
    tracerProvider: { getTracer: () => throwing },
  })
  let handled = 0
  receiver.onAny(() => void (handled += 1))
  await bring(callback.smsDelivery())
  await receiver.drain()
  expect(handled).toBe(1)
})

test('uses the registered provider by default, even if it is registered later', async () => {
  const sdk = withSdk()
  const telemetry = openTelemetry()
  const receiver = createReceiver({ logger: false, ...withCredentials({}) })
  const stop = telemetry.observe(receiver)
  trace.setGlobalTracerProvider(sdk.tracerProvider)
  onTestFinished(async () => {
    trace.disable()
    stop()
    await receiver.close({ deadlineMs: 0 })
  })
  const body = Buffer.from(JSON.stringify({ ...callback.smsDelivery(), authKey: AUTH_KEY }))
  await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
  await receiver.drain()
  expect(outcomes(sdk.attempts())).toEqual(['1 well'])
})
