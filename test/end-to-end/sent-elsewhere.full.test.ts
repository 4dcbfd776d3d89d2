/** Several processes on one store: one sends, and another receives the reports, even before the answer to the send is recorded. */
import { createClient, type Client } from 'messaging-webhooks/client'
import { RetryLater, type WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import type { TestContext } from 'vitest'
import { post, receiving, type SomeOptions } from '../support/receiving.ts'
import { storeOf, type StoreSpec } from '../support/servers/store-spec.ts'
import { onEachEngine } from './cluster/on-each-engine.ts'

const ENGINES = ['sqlite', 'postgres', 'mysql', 'redis'] as const
const to = '254711000001'
const SOON = { timeout: 30_000 }

/** A separate receiver on the store, as another process has it. */
async function receivingOn(spec: StoreSpec, { onTestFinished, expect }: TestContext, options: SomeOptions = {}) {
  // Servers of other tests share the disk, and this test is not about a slow store.
  const store = await storeOf({ ...spec, commandTimeoutMs: 30_000 })
  const found = await receiving(
    { spool: false, storeTimeoutMs: 40_000, ...options, store },
    { kind: 'status' },
    onTestFinished,
  )
  const events: WebhookEvent[] = []
  found.receiver.onAny((event) => void events.push(event))
  await found.receiver.start()
  // Equal reports with different times would be two events.
  const timestamp = Math.floor(Date.now() / 1_000)
  const report = async (messageId: string): Promise<void> => {
    expect((await post(found.url, callback.smsDelivery({ messageId, timestamp, status: 'success' }))).status).toBe(204)
  }
  return { ...found, events, report }
}

type Answer = (messageId: string) => void

/** A client whose request waits until a test answers it: `asked` resolves to the function that answers it. */
function clientOn(receiver: Awaited<ReturnType<typeof receivingOn>>['receiver']) {
  let ask = (_answer: Answer): void => {}
  const asked = new Promise<Answer>((resolve) => {
    ask = resolve
  })
  const { send }: Client = createClient({
    receiver,
    baseUrl: 'http://127.0.0.1:9/v1/messaging',
    project: 'My Shop',
    apiKey: 'api-key-of-the-test',
    logger: false,
    timeoutMs: 60_000,
    fetch: () =>
      new Promise((resolve) => {
        ask((messageId) => {
          const recipient = { messageId, to, status: 'accepted', statusCode: '11', messagePart: 1, type: 'bulk' }
          resolve(Response.json({ messageData: { messages: 1 }, recipients: [recipient] }))
        })
      }),
  })
  return { send, asked }
}

onEachEngine(
  ENGINES,
  'a report that another process receives before the answer is recorded runs at once, and with its send when it is retried',
  async ({ server, context }) => {
    const { expect } = context
    const spec = server.spec('sent')
    const sender = await receivingOn(spec, context, { dispatch: false })
    const other = await receivingOn(spec, context)
    const { send, asked } = clientOn(sender.receiver)
    const sent = send({ to, message: 'Hello', meta: { order: 7 } })
    const answerWith = await asked
    const needing: unknown[] = []
    other.receiver.on('message.delivered', (event) => {
      if (event.sent === undefined) throw new RetryLater(500)
      needing.push(event.sent.meta)
    })
    await other.report('mine')
    await expect.poll(() => other.events.length, SOON).toBe(1)
    expect(other.events[0]).not.toHaveProperty('sent')
    answerWith('mine')
    await sent
    await expect.poll(() => needing, SOON).toEqual([{ order: 7 }])
  },
)
