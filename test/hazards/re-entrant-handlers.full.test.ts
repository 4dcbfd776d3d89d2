/** Handlers call their own receiver while they run, and await the result: no call waits for ever. */
import { callback, fakeClock } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { onEachStore } from '../support/each-store.ts'
import { unhandledRejections, untilRejectionsReported } from '../support/hostile.ts'
import { post, receiving } from '../support/receiving.ts'

type Receiver = Awaited<ReturnType<typeof receiving>>['receiver']

const POLL = { timeout: 30_000 }
const first = (): object => callback.smsDelivery({ messageId: 'first' })
const second = (): object => callback.smsDelivery({ messageId: 'second' })

/** What a handler calls on its receiver, and the result it receives. */
const CALLS: readonly (readonly [
  what: string,
  call: (receiver: Receiver, id: string) => unknown,
  receives: unknown,
])[] = [
  [
    'latest() of its own message',
    (receiver) => receiver.messageState('first'),
    expect.objectContaining({ type: 'message.delivered' }),
  ],
  ['replay() of itself', (receiver, id) => receiver.deadLetters.replay(id), false],
  ['discard() of itself', (receiver, id) => receiver.deadLetters.discard(id), false],
  ['replay() of what is unknown', (receiver) => receiver.deadLetters.replay('0'.repeat(32)), false],
  ['deadLetters()', (receiver) => receiver.deadLetters.list(), { items: [] }],
  ['stats()', (receiver) => receiver.stats(), expect.objectContaining({ running: 1, unsettled: 1 })],
  ['start()', (receiver) => receiver.start(), undefined],
  ['drain(), which waits for this very handler', (receiver) => receiver.drain({ deadlineMs: 100 }), false],
  [
    'quarantine.reverify()',
    (receiver) => receiver.quarantine.reverify(),
    { examined: 0, admitted: 0, stillUnproved: 0 },
  ],
  ['quarantine.clear()', (receiver) => receiver.quarantine.clear(), undefined],
  ['quarantine.list()', (receiver) => receiver.quarantine.list(), { items: [] }],
]

describe.each(onEachStore)('with %s, a handler', (_name, makeStore) => {
  test.each(CALLS)('waits for %s', async (_what, call, receives) => {
    const unhandled = unhandledRejections()
    const { receiver, url } = await receiving({ store: makeStore() })
    const received: unknown[] = []
    const given: string[] = []
    receiver.on('message.delivered', async ({ id, messageId }) => {
      if (messageId === 'first') received.push(await call(receiver, id))
      given.push(messageId)
    })
    expect((await post(url, first())).status).toBe(204)
    await expect.poll(() => given, POLL).toEqual(['first'])
    expect((await post(url, second())).status).toBe(204)
    expect(await receiver.drain()).toBe(true)
    expect(given).toEqual(['first', 'second'])
    expect(received).toEqual([receives])
    await untilRejectionsReported()
    expect(unhandled).toEqual([])
  })

  test.each([
    ['with a deadline', { deadlineMs: 200 }],
    ['with none', { deadlineMs: 0 }],
  ])('waits for close() %s: its signal aborts, and what waits is not lost silently', async (_what, options) => {
    const unhandled = unhandledRejections()
    const store = makeStore()
    const { receiver, url } = await receiving({ store, concurrency: 1 })
    let isClosed = false
    let reason: unknown
    receiver.on('message.delivered', async ({ messageId }, { signal }) => {
      if (messageId !== 'first') return
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      await receiver.close(options)
      isClosed = true
    })
    expect((await post(url, first())).status).toBe(204)
    await expect.poll(() => isClosed, POLL).toBe(true)
    expect(reason).toMatchObject({ code: 'receiver_closed' })
    // A callback that arrives now cannot be kept, and its answer says so.
    expect((await post(url, second())).status).toBe(503)
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_closed' })
    await untilRejectionsReported()
    expect(unhandled).toEqual([])
  })

  test('attaches and detaches handlers while one event is dispatched: the changes apply from the next event on', async () => {
    const { receiver, url } = await receiving({ store: makeStore() })
    const given: string[] = []
    let others: (() => void)[] = []
    receiver.on('message.delivered', ({ messageId }) => {
      given.push(`always ${messageId}`)
      for (const off of others) off()
      others = [receiver.on('message.delivered', () => void given.push(`attached by ${messageId}`))]
    })
    for (const body of [first(), second()]) {
      expect((await post(url, body)).status).toBe(204)
      expect(await receiver.drain()).toBe(true)
    }
    // The handler attached by the first one is detached while the second event is dispatched, which has begun.
    expect(given).toEqual(['always first', 'always second', 'attached by first'])
  })

  test('detaches itself and throws: the event is retried, and settled by the remaining handlers', async () => {
    const { receiver, url } = await receiving({ store: makeStore(), retry: { attempts: 5, initialDelayMs: 0 } })
    let runs = 0
    const off = receiver.onAny(() => {
      runs += 1
      off()
      throw new Error('never again')
    })
    expect((await post(url, first())).status).toBe(204)
    expect(await receiver.drain()).toBe(true)
    expect(runs).toBe(1)
    expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
  })

  test('replays and discards dead letters, its own among them', async () => {
    const { receiver, url } = await receiving({ store: makeStore(), retry: { attempts: 1 } })
    const given: string[] = []
    let cured = false
    receiver.on('message.delivered', async ({ messageId }) => {
      given.push(messageId)
      if (!cured) throw new Error('not yet')
      const { items } = await receiver.deadLetters.list()
      for (const [index, { id }] of items.entries())
        expect(await (index === 0 ? receiver.deadLetters.replay(id) : receiver.deadLetters.discard(id))).toBe(true)
    })
    for (const messageId of ['a', 'b', 'c']) {
      expect((await post(url, callback.smsDelivery({ messageId }))).status).toBe(204)
      await expect.poll(async () => (await receiver.stats()).unsettled, POLL).toBe(0)
    }
    cured = true
    expect(await receiver.deadLetters.replay((await receiver.deadLetters.list()).items[1]?.id ?? '')).toBe(true)
    expect(await receiver.drain()).toBe(true)
    expect(given).toEqual(['a', 'b', 'c', 'b', 'a'])
    expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
  })

  /** The handler of the first callback POSTs a second one, and waits for its answer. */
  async function postingAnother(options: Parameters<typeof receiving>[0]) {
    const { receiver, url, errors } = await receiving({ store: makeStore(), ...options })
    const given: string[] = []
    const answers: number[] = []
    receiver.on('message.delivered', async ({ messageId }) => {
      if (messageId === 'first') answers.push((await post(url, second())).status)
      given.push(messageId)
    })
    expect((await post(url, first())).status).toBe(204)
    expect(await receiver.drain()).toBe(true)
    expect(answers).toEqual([204])
    return { given, errors }
  }

  test.each([
    ['stored', 1],
    ['handled', 2],
  ] as const)(
    "POSTs another callback and waits for the answer, with answer: '%s' and concurrency %i",
    async (answer, concurrency) => {
      const { given } = await postingAnother({ answer, concurrency })
      expect(given).toEqual(answer === 'handled' ? ['second', 'first'] : ['first', 'second'])
    },
  )

  test("POSTs another with answer: 'handled' and no free slot: the answer waits as long as a handler may run", async () => {
    const { given, errors } = await postingAnother({ answer: 'handled', concurrency: 1, handlerTimeoutMs: 300 })
    expect([...given].sort()).toEqual(['first', 'second'])
    expect(errors.map(({ code }) => code)).toEqual(['handler_timeout'])
  })
})

describe('a handler of onError', () => {
  test('attaches itself again while it is notified: each handler attached before is notified once', async () => {
    const { receiver, url } = await receiving({ retry: { attempts: 1 } })
    let reported = 0
    const onRepeated = (): void => {
      reported += 1
      if (reported < 1_000) receiver.onError(onRepeated)
    }
    receiver.onError(onRepeated)
    receiver.onAny(() => Promise.reject(new Error('once')))
    expect((await post(url, first())).status).toBe(204)
    expect(await receiver.drain()).toBe(true)
    // `handler_failed` by one, `dead_letter` by two.
    expect(reported).toBe(3)
  })

  test('closes the receiver, and waits for it', async () => {
    const unhandled = unhandledRejections()
    const { receiver, url } = await receiving({ retry: { attempts: 1 } })
    let isClosed = false
    receiver.onError(async () => {
      await receiver.close({ deadlineMs: 100 })
      isClosed = true
    })
    receiver.onAny(() => Promise.reject(new Error('once')))
    expect((await post(url, first())).status).toBe(204)
    await expect.poll(() => isClosed, POLL).toBe(true)
    await untilRejectionsReported()
    expect(unhandled).toEqual([])
  })
})

describe.each<readonly [string, (receiver: Receiver) => unknown]>([
  ['close()', (receiver) => receiver.close({ deadlineMs: 300 })],
  ['drain()', (receiver) => receiver.drain({ deadlineMs: 300 })],
  ['quarantine.reverify()', (receiver) => receiver.quarantine.reverify()],
  ['stats()', (receiver) => receiver.stats()],
  ['latest()', (receiver) => receiver.messageState('first', { project: 'My Shop' })],
])('%s', (_what, call) => {
  test('that a credentials function waits for delays the request no longer than a look-up may take', async () => {
    const unhandled = unhandledRejections()
    let asked = 0
    const { receiver, url } = await receiving({
      lookupTimeoutMs: 500,
      async credentials() {
        asked += 1
        if (asked === 1) await call(receiver)
        return { signingSecret: 'signing-secret-of-the-tests' }
      },
    })
    expect([204, 503]).toContain((await post(url, first())).status)
    await untilRejectionsReported()
    expect(unhandled).toEqual([])
  })

  test('that a logger, a clock, dedupeKey and a schema call does no harm', async () => {
    const unhandled = unhandledRejections()
    let isBusy = false
    /** Not from within itself: that would be the user's own loop. */
    const once = (): void => {
      if (isBusy) return
      isBusy = true
      const given = (async () => call(receiver))()
      void given.catch(() => {}).then(() => (isBusy = false))
    }
    const { receiver, url } = await receiving(
      {
        logger: { debug: once, info: once, warn: once, error: once },
        dedupeKey() {
          once()
          return undefined
        },
        schemas: {
          payment: { '~standard': { version: 1, vendor: 'x', validate: (value) => (once(), { value }) } },
        },
      },
      { kind: 'payment' },
    )
    expect([204, 503]).toContain((await post(url, callback.payment())).status)
    await untilRejectionsReported()
    expect(unhandled).toEqual([])
  })
})

test.each(['drain', 'close'] as const)('%s() without a deadline ends after the default', async (verb) => {
  const clock = fakeClock()
  const { receiver, url } = await receiving({ clock })
  receiver.onAny(() => new Promise(() => {}))
  expect((await post(url, first(), { timestamp: Math.floor(clock.now() / 1_000) })).status).toBe(204)
  let isOver = false
  void receiver[verb]({ deadlineMs: undefined }).then(() => (isOver = true))
  await clock.advance(9_000)
  expect(isOver).toBe(false)
  for (let second = 0; second < 15; second += 1) await clock.advance(1_000)
  expect(isOver).toBe(true)
})
