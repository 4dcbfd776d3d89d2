/** Traces from the instrumented HTTP request to the handler, in one process and across processes. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { AUTH_KEY } from '../support/receiving.ts'
import { startTracedApp, type AppSpan } from './traced-app.ts'
import { ownFile } from '../support/own-folder.ts'

const OUTSIDE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

async function bring(url: string, messageId: string, headers: Record<string, string> = {}): Promise<number> {
  const body = JSON.stringify({ ...callback.smsDelivery({ messageId }), authKey: AUTH_KEY })
  const { status } = await fetch(url, { method: 'POST', headers, body })
  return status
}

function named(spans: readonly AppSpan[], name: string): readonly AppSpan[] {
  return spans.filter((span) => span.name === name)
}

test('links the span of an attempt to that of its request, and makes a handler’s span its child', async () => {
  const app = await startTracedApp({ path: ownFile(), dispatch: true, fails: false, authKey: AUTH_KEY })
  expect(await bring(app.url, 'm1', { traceparent: OUTSIDE, tracestate: 'vendor=value' })).toBe(204)
  const spans = await app.spans()
  const [request] = named(spans, 'POST')
  const [attempt] = named(spans, 'process message.delivered')
  const [inHandler] = named(spans, 'look up')
  // The request's own parent is its sender; the link keeps the request.
  expect(request?.parentSpanId).toBe('b7ad6b7169203331')
  expect(attempt?.links).toEqual([[request?.traceId, request?.spanId, 'vendor=value']])
  expect(attempt?.parentSpanId).toBeUndefined()
  expect(attempt?.traceId).not.toBe(request?.traceId)
  expect(inHandler?.parentSpanId).toBe(attempt?.spanId)
  expect(inHandler?.traceId).toBe(attempt?.traceId)
})

test('another process that dispatches the event links each attempt to the request of the first process', async () => {
  const path = ownFile()
  const first = await startTracedApp({ path, dispatch: false, fails: false, authKey: AUTH_KEY })
  expect(await bring(first.url, 'm1', { traceparent: OUTSIDE, tracestate: 'vendor=value' })).toBe(204)
  const [request, ...others] = await first.spans()
  expect(others).toEqual([])
  await first.kill()
  const second = await startTracedApp({ path, dispatch: true, fails: true, authKey: AUTH_KEY })
  const attempts = named(await second.spans(), 'process message.delivered')
  expect(attempts.map(({ errorType }) => errorType)).toEqual(['handler_failed', undefined])
  const link = [request?.traceId, request?.spanId, 'vendor=value']
  expect(attempts.map(({ links }) => links)).toEqual([[link], [link]])
})
