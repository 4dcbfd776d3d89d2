/** `receiverHandler` by itself: how it reads a `Request` and the other arguments of a platform. */
import { createReceiver, type MessagingWebhooksError } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { SIGNING_SECRET, withCredentials, type SomeOptions } from '../support/receiving.ts'

const BODY = JSON.stringify(callback.smsDelivery({ messageId: 'm-1' }))

function handling(options: SomeOptions = {}, mount: Parameters<typeof receiverHandler>[2] = {}) {
  const receiver = createReceiver({ logger: false, ...withCredentials(options) })
  const errors: MessagingWebhooksError[] = []
  receiver.onError((error) => void errors.push(error))
  onTestFinished(() => receiver.close({ deadlineMs: 0 }))
  return { receiver, errors, handle: receiverHandler(receiver, 'status', mount) }
}

function signed(body: string | ReadableStream<Uint8Array> = BODY): Request {
  const headers = { 'x-service-signature': signCallback(BODY, SIGNING_SECRET) }
  return new Request('http://localhost/status', { method: 'POST', headers, body, duplex: 'half' })
}

test.each<[string, (request: Request) => unknown]>([
  ['was read', (request) => request.text()],
  ['is being read', (request) => request.body?.getReader()],
])('rejects a body that %s, and explains the fix', async (_, take) => {
  const { handle, errors } = handling()
  const request = signed()
  await take(request)
  expect((await handle(request)).status).toBe(401)
  expect(errors).toMatchObject([
    { code: 'body_already_read', message: expect.stringContaining('request.clone()') as unknown },
  ])
})

test('stops reading a stalled stream when its timeout is over', async () => {
  const clock = fakeClock()
  const { handle } = handling({ clock, bodyTimeoutMs: 1_000 })
  let isCancelled = false
  const still = new ReadableStream<Uint8Array>({
    start: (to) => to.enqueue(Buffer.from(BODY.slice(0, 9))),
    cancel: () => void (isCancelled = true),
  })
  const request = signed(still)
  const answer = handle(request)
  await new Promise(setImmediate)
  await clock.advance(1_000)
  expect((await answer).status).toBe(408)
  // Cancelling it would end some servers' connections before they have answered.
  expect({ isLocked: request.body?.locked, isCancelled }).toEqual({ isLocked: false, isCancelled: false })
})

test('calls waitUntil on its own object, with a promise that ends after the first attempt of the handlers', async () => {
  const { receiver, handle } = handling()
  const order: string[] = []
  receiver.onAny(async () => {
    await new Promise(setImmediate)
    order.push('handled')
  })
  const platform = {
    works: new Array<Promise<unknown>>(),
    waitUntil(work: Promise<unknown>) {
      this.works.push(work)
    },
  }
  expect((await handle(signed(), platform)).status).toBe(204)
  order.push('answered')
  await Promise.all(platform.works)
  expect({ order, count: platform.works.length }).toEqual({ order: ['answered', 'handled'], count: 1 })
})

test("a mount's own policy overrides the option, and a misspelt one is rejected", async () => {
  expect((await handling({}, { proof: 'authKey' }).handle(signed())).status).toBe(401)
  const { receiver } = handling()
  const misspelt: object = { prof: 'signature' }
  expect(() => receiverHandler(receiver, 'status', misspelt)).toThrow('receiverHandler: prof')
  const state: unknown = 'state'
  expect((): unknown => Reflect.apply(receiverHandler, undefined, [receiver, state])).toThrow('Valid: status,')
})
