/** A store that answers later than the receiver expects. */
import { createReceiver, memoryStore } from 'messaging-webhooks'
import type { OpenStore, Store } from 'messaging-webhooks/store'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'

const AUTH_KEY = 'a-key-of-this-test'

/** A memory store that claims to be durable and shared, with methods that a test replaces. */
function storeWith(changed: (inner: OpenStore) => Partial<OpenStore>, durable: boolean): Store {
  const { capabilities, open } = memoryStore()
  return {
    capabilities: { ...capabilities, durable, shared: true },
    async open(host) {
      const { admitAndClaim: _, ...inner } = await open(host)
      return { ...inner, ...changed(inner) }
    },
  }
}

function send(receiver: ReturnType<typeof createReceiver>, messageId: string) {
  const body = Buffer.from(JSON.stringify({ authKey: AUTH_KEY, messageId, status: 'success' }))
  return receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
}

test('does not run what a claim returns after close() abandoned it', async () => {
  let answer = (): void => {}
  let isSlow = false
  const store = storeWith(
    (inner) => ({
      async claim(request) {
        if (!isSlow) return { claims: [], nextDueMs: undefined }
        await new Promise<void>((resolve) => (answer = resolve))
        return inner.claim(request)
      },
    }),
    true,
  )
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY }, store, spool: false, logger: false })
  const handled: string[] = []
  receiver.onAny(({ id }) => void handled.push(id))
  await receiver.start()
  await sleep(20)
  isSlow = true
  expect((await send(receiver, 'm-1')).status).toBe(204)
  await sleep(20)
  await receiver.close({ deadlineMs: 50 })
  answer()
  await sleep(50)
  expect(handled).toEqual([])
})

test('does not wait again for an attempt that ended before its admission was answered', async () => {
  const store = storeWith(
    (inner) => ({
      async admit(events, nowMs) {
        const admissions = await inner.admit(events, nowMs)
        if (events.some(({ record }) => record.report?.messageId === 'slow')) await sleep(300)
        return admissions
      },
      claim: async (request) => inner.claim(request),
      settle: async (...settled) => inner.settle(...settled),
    }),
    false,
  )
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY },
    store,
    spool: false,
    logger: false,
    answer: 'handled',
    // Longer than the test may take, so waiting for it would fail the test.
    handlerTimeoutMs: 600_000,
  })
  const handled: (string | undefined)[] = []
  receiver.on('message.delivered', async ({ messageId }) => {
    if (messageId === 'first') await sleep(100)
    handled.push(messageId)
  })
  await receiver.start()
  const first = send(receiver, 'first')
  await sleep(20)
  // The end of the first attempt claims it.
  expect((await send(receiver, 'slow')).status).toBe(204)
  expect((await first).status).toBe(204)
  expect(handled).toEqual(['first', 'slow'])
  await receiver.close()
})

test('answers two simultaneous repetitions when the attempt is over', async () => {
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY },
    logger: false,
    answer: 'handled',
    handlerTimeoutMs: 600_000,
  })
  receiver.onAny(() => sleep(50))
  const answers = await Promise.all([send(receiver, 'm-1'), send(receiver, 'm-1'), send(receiver, 'm-1')])
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
  await receiver.close()
})
