/**
 * Several processes on one store: one sends, and another receives the reports, even before the answer to the send is recorded. In that
 * case the report waits for the answer while the send is pending; nothing else makes it wait.
 */
import { createClient, type Client } from 'messaging-webhooks/client'
import type { WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import type { TestContext } from 'vitest'
import { MOST_PENDING_MS } from '../../src/messages/sends.ts'
import { startProgram } from '../support/program.ts'
import { post, receiving, type SomeOptions } from '../support/receiving.ts'
import { storeOf, type StoreSpec } from '../support/servers/store-spec.ts'
import { onEachEngine } from './cluster/on-each-engine.ts'

const ENGINES = ['sqlite', 'postgres', 'mysql', 'redis'] as const
const APP = `${import.meta.dirname}/programs/dying-sender.ts`
const to = '254711000001'
const QUEUED = { status: 'queued', statusCode: '13' }
/** Shorter than the wait of a report for a pending send. */
const SOON = { timeout: MOST_PENDING_MS - 10_000 }
/** Longer than the wait of a report for a pending send. */
const BOUND = { timeout: 120_000 }

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
  const report = async (messageId: string, fields: object = { status: 'success' }): Promise<void> => {
    expect((await post(found.url, callback.smsDelivery({ messageId, timestamp, ...fields }))).status).toBe(204)
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

const namesOf = (events: readonly WebhookEvent[]): readonly string[] =>
  events.map((event) => ('messageId' in event ? `${event.messageId} ${event.type}` : event.type))

onEachEngine(
  ENGINES,
  'a report that another process receives before the answer is recorded gets its sent',
  async ({ server, context }) => {
    const { expect } = context
    const spec = server.spec('sent')
    const sender = await receivingOn(spec, context, { dispatch: false })
    const other = await receivingOn(spec, context)
    // No send is pending, so no report waits.
    await other.report('before')
    await expect.poll(() => namesOf(other.events), SOON).toEqual(['before message.delivered'])

    const { send, asked } = clientOn(sender.receiver)
    const sent = send({ to, message: 'Hello', meta: { order: 7 } })
    const answerWith = await asked
    await other.report('mine', QUEUED)
    await other.report('mine')
    await other.report('mine')
    await new Promise((resolve) => void setTimeout(resolve, 6_000))
    expect(namesOf(other.events)).toEqual(['before message.delivered'])
    answerWith('mine')
    await sent
    await expect.poll(() => other.events.length, SOON).toBe(3)
    const [, ...reports] = other.events
    expect(namesOf(reports)).toEqual(['mine message.queued', 'mine message.delivered'])
    for (const event of reports) expect(event).toMatchObject({ sent: { to, meta: { order: 7 } } })

    // No send is pending any more.
    await other.report('after')
    await expect.poll(() => namesOf(other.events).at(-1), SOON).toBe('after message.delivered')
    expect(other.events).toHaveLength(4)
  },
)

onEachEngine(
  ENGINES,
  'a report waits for pending sends alone: those of others go on as these end',
  async ({ server, context }) => {
    const { expect } = context
    const spec = server.spec('sent')
    const sender = await receivingOn(spec, context, { dispatch: false })
    const other = await receivingOn(spec, context)
    const { sent } = await sender.receiver.intend({ to })
    await other.report('stranger')
    await new Promise((resolve) => void setTimeout(resolve, 1_000))
    expect(other.events).toEqual([])
    await sent({ messages: [{ messageId: 'mine', to }] })
    await expect.poll(() => namesOf(other.events), SOON).toEqual(['stranger message.delivered'])
    expect(other.events[0]).not.toHaveProperty('sent')
  },
)

onEachEngine(
  ENGINES,
  'reports of a process that was killed before it recorded the answer are dispatched after a while',
  async ({ server, context }) => {
    const { expect } = context
    const spec = server.spec('sent')
    const other = await receivingOn(spec, context)
    const { ended } = startProgram(process.execPath, [APP, JSON.stringify(spec)])
    expect((await ended).stdout).toBe('asked')
    await other.report('lost', QUEUED)
    await other.report('lost')
    await expect.poll(() => namesOf(other.events), BOUND).toEqual(['lost message.queued', 'lost message.delivered'])
    for (const event of other.events) expect(event).not.toHaveProperty('sent')
    await other.report('next')
    await expect.poll(() => namesOf(other.events).at(-1), SOON).toBe('next message.delivered')
  },
)
