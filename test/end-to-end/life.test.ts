/** A receiver from start to end: backlog, failing stores, draining, closing, and two receivers in one process. */
import { createReceiver, MessagingWebhooksError, type Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { runProgram } from '../support/program.ts'
import { post, receiving } from '../support/receiving.ts'
import { brokenStore, lastingStore, withoutLeases, type Broken } from '../support/stores.ts'

const down = (): never => {
  throw new Error('the disk is gone')
}

describe('the backlog of a store', () => {
  /** A store in which one event waits, left there by a closed receiver, and the number of attempts of that receiver. */
  async function storeWithBacklog() {
    const store = await lastingStore()
    const before = await receiving({ store })
    let refuse = true
    before.receiver.onAny(() => {
      if (refuse) throw new Error('not here')
    })
    await post(before.url, callback.smsDelivery({ messageId: 'left behind' }))
    await expect.poll(() => before.errors.length).toBeGreaterThan(0)
    before.server.close()
    before.server.closeAllConnections()
    await before.receiver.close({ deadlineMs: 1 })
    refuse = false
    return { store, attempts: before.errors.length }
  }

  test('is dispatched by start(), after the handlers were attached', async () => {
    const { store, attempts } = await storeWithBacklog()
    const { receiver } = await receiving({ store })
    const handled: unknown[] = []
    receiver.on('message.*', ({ messageId }, { attempt }) => void handled.push([messageId, attempt]))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(handled).toEqual([])
    await receiver.start()
    await receiver.start()
    expect(await receiver.drain()).toBe(true)
    expect(handled).toEqual([['left behind', attempts + 1]])
  })

  test('is dispatched by the first request, even a refused one', async () => {
    const { store } = await storeWithBacklog()
    const { receiver, url } = await receiving({ store })
    const handled: string[] = []
    receiver.on('message.*', ({ messageId }) => void handled.push(messageId))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(handled).toEqual([])
    expect((await fetch(url, { method: 'POST' })).status).toBe(401)
    await expect.poll(() => handled).toEqual(['left behind'])
  })
})

describe('a store that fails', () => {
  test.each([
    ['throws', down],
    ['rejects', () => Promise.reject(new Error('the disk is gone'))],
  ])(
    'at opening is asked again until it opens, start() waits for it, and what is wrong was reported: it %s',
    async (_what, fail) => {
      const lasting = await lastingStore()
      let broken = true
      const store: Store = { ...lasting, open: (host) => (broken ? fail() : lasting.open(host)) }
      const { receiver, url, errors } = await receiving({ store })
      let hasStarted = false
      const started = receiver.start().then(() => (hasStarted = true))
      expect((await post(url, callback.smsDelivery())).status).toBe(503)
      expect(errors).toMatchObject([
        { code: 'store_failed', cause: new Error('the disk is gone') },
        { name: 'RefusedError', code: 'store_failed', status: 503 },
      ])
      expect(hasStarted).toBe(false)
      expect(await receiver.health()).toMatchObject({ ready: false })
      broken = false
      expect((await post(url, callback.smsDelivery())).status).toBe(204)
      await started
      expect(await receiver.drain()).toBe(true)
      expect(errors).toHaveLength(2)
    },
  )

  test.each([
    ['throws', down],
    ['rejects', () => Promise.reject(new Error('the disk is gone'))],
    ['answers for nothing', () => []],
    ['answers for nothing later', () => Promise.resolve([])],
  ])('in admission is answered 503 while it %s', async (_what, admit: Required<Broken>['admit']) => {
    const broken: Broken = { admit }
    const { receiver, url, errors } = await receiving({ store: brokenStore(broken) })
    expect((await post(url, callback.smsDelivery())).status).toBe(503)
    expect(errors).toMatchObject([{ name: 'RefusedError', code: 'store_failed', status: 503 }])
    delete broken.admit
    expect((await post(url, callback.smsDelivery())).status).toBe(204)
    expect(await receiver.stats()).toMatchObject({ accepted: 1, refused: 1 })
  })

  // The lease: a second for the schema, one for the handler, and ten.
  test.each([
    ['while the lease lasts is retried, and the event is not dispatched again', 5_000, [1]],
    ['until the lease expires dispatches the event again', 11_900, [1, 2]],
  ])('in settle %s', async (_what, forMs, expected) => {
    const clock = fakeClock()
    const broken: Broken = { settle: down }
    const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken), handlerTimeoutMs: 1_000 })
    const attempts: number[] = []
    receiver.onAny((_event, { attempt }) => void attempts.push(attempt))
    await post(url, callback.smsDelivery())
    await clock.advance(forMs)
    expect(attempts).toEqual([1])
    delete broken.settle
    await clock.advance(60_000)
    expect(attempts).toEqual(expected)
    // Reported once, not at each attempt.
    expect(errors.map(({ code }) => code)).toEqual(['store_failed'])
    expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
  })

  test('in claim after leasing events has those events dispatched once it reports them', async () => {
    const clock = fakeClock()
    let answer = (): void => {}
    const broken: Broken = {
      admit: withoutLeases,
      async lease(_, go) {
        const answers = await go()
        await new Promise<void>((resolve) => (answer = resolve))
        return answers
      },
    }
    const { receiver, url, errors } = await receiving({ clock, store: brokenStore(broken), storeTimeoutMs: 500 })
    const attempts: number[] = []
    receiver.onAny((_event, { attempt }) => void attempts.push(attempt))
    await post(url, callback.smsDelivery())
    await clock.advance(600)
    expect(errors.map(({ code }) => code)).toEqual(['store_slow'])
    answer()
    await clock.advance(0)
    expect(attempts).toEqual([1])
    expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
  })

  test.each([
    [callback.smsDelivery(), undefined, 'message.delivered'],
    [callback.payment(), 'payment', 'payment'],
    ['no JSON', undefined, 'unrecognized'],
  ] as const)('because another receiver took the event over reports lease_lost (%#)', async (body, kind, eventType) => {
    const store = brokenStore({ settle: () => [{ held: false, nextInMs: undefined }] })
    const { receiver, url, errors } = await receiving({ store }, kind === undefined ? {} : { kind })
    receiver.onAny(() => {})
    await post(url, body)
    await expect.poll(() => errors).toMatchObject([{ code: 'lease_lost', eventType, attempt: 1 }])
  })

  test('after close is not reported', async () => {
    let settle = (): void => {}
    const broken = brokenStore({
      settle: () => new Promise((_resolve, reject) => (settle = () => reject(new Error('closed')))),
    })
    const { receiver, server, url, errors } = await receiving({ store: broken })
    await post(url, callback.smsDelivery())
    await expect.poll(async () => (await receiver.stats()).running).toBe(1)
    server.closeAllConnections()
    server.close()
    await receiver.close({ deadlineMs: 20 })
    settle()
    await new Promise((resolve) => setTimeout(resolve, 20))
    // The error is about the event that was not settled, not about the store.
    expect(errors.map(({ code }) => code)).toEqual(['events_lost'])
  })
})

test('batches arrivals during a write into the next write', async () => {
  const sizes: number[] = []
  const store = brokenStore({
    async admit(commands, go) {
      sizes.push(commands.length)
      await new Promise((resolve) => setTimeout(resolve, 20))
      return go()
    },
  })
  const { receiver, url } = await receiving({ store })
  const handled = new Set<string>()
  receiver.onAny(({ id }) => void handled.add(id))
  await receiver.start()
  const answers = await Promise.all(Array.from({ length: 40 }, () => post(url, callback.smsDelivery())))
  expect(answers.every(({ status }) => status === 204)).toBe(true)
  expect(await receiver.drain()).toBe(true)
  expect(handled.size).toBe(40)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(40)
  expect(sizes.length).toBeLessThan(40)
})

describe('drain()', () => {
  test('waits for held-back reports and retries, and resolves to true', async () => {
    const { receiver, url } = await receiving({ ordering: { gapTimeoutMs: 50 }, retry: { initialDelayMs: 20 } })
    const handled: (string | undefined)[] = []
    receiver.on('message.*', ({ status }, { attempt }) => {
      if (attempt === 1) throw new Error('not yet')
      handled.push(status)
    })
    await post(url, callback.chatApp({ statuses: { status: 'read' } }))
    expect(await receiver.drain()).toBe(true)
    expect(handled).toEqual(['read'])
  })
})

test('answers 503 to a callback that still waits for the store at close', async () => {
  const admitted: (() => void)[] = []
  const admit: Broken['admit'] = (commands) =>
    new Promise((resolve) =>
      admitted.push(() => resolve(commands.map(() => ({ admission: 'new', granted: undefined })))),
    )
  const { receiver, url, errors } = await receiving({ store: brokenStore({ admit }) })
  const first = post(url, callback.smsDelivery())
  await expect.poll(() => admitted).toHaveLength(1)
  const second = post(url, callback.smsDelivery())
  await new Promise((resolve) => setTimeout(resolve, 50))
  await receiver.close({ deadlineMs: 20 })
  for (const resolve of admitted) resolve()
  expect([(await first).status, (await second).status]).toEqual([204, 503])
  expect(errors).toMatchObject([{ code: 'receiver_closed', status: 503 }])
})

function describeReason({ reason }: AbortSignal): unknown {
  return reason instanceof MessagingWebhooksError ? reason.code : reason
}

describe('close()', () => {
  test('waits for running handlers and aborts those still running at its deadline', async () => {
    const { receiver, server, url } = await receiving()
    const ended: string[] = []
    let finishOne = (): void => {}
    receiver.on('message.*', ({ messageId }, { signal }) => {
      signal.addEventListener('abort', () => ended.push(`${messageId} is aborted: ${String(describeReason(signal))}`))
      if (messageId === 'hanging') return new Promise(() => {})
      return new Promise<void>((resolve) => (finishOne = resolve)).then(() => void ended.push(`${messageId} is done`))
    })
    await post(url, callback.smsDelivery({ messageId: 'one' }))
    await post(url, callback.smsDelivery({ messageId: 'hanging' }))
    await expect.poll(async () => (await receiver.stats()).running).toBe(2)
    server.close()
    server.closeAllConnections()
    const closed = receiver.close({ deadlineMs: 150 })
    finishOne()
    await closed
    expect(ended).toEqual(['one is done', 'hanging is aborted: receiver_closed'])
  })

  test('while the store opens leaves it closed, whether opening succeeds or fails', async () => {
    let fail = (): void => {}
    const { capabilities } = await lastingStore()
    const open = () => new Promise<never>((_resolve, reject) => (fail = () => reject(new Error('the disk is gone'))))
    const receiver = createReceiver({ credentials: { authKey: 'key' }, logger: false, store: { capabilities, open } })
    const started = receiver.start()
    const closed = receiver.close()
    fail()
    await expect(started).rejects.toMatchObject({ code: 'receiver_closed' })
    await closed
    await expect(receiver.start()).rejects.toMatchObject({ code: 'receiver_closed' })
  })

  test('of a receiver that never started is quick, and later calls reject', async () => {
    const receiver = createReceiver({ credentials: { authKey: 'key' }, logger: false })
    await receiver.close()
    for (const asked of [receiver.start(), receiver.messageState('1'), receiver.deadLetters.list(), receiver.drain()])
      await expect(asked).rejects.toMatchObject({ code: 'receiver_closed' })
  })
})

test('two receivers in one process share nothing', async () => {
  const one = await receiving()
  const other = await receiving()
  const handled: string[] = []
  one.receiver.onAny(() => void handled.push('one'))
  other.receiver.onAny(() => void handled.push('other'))
  const body = callback.smsDelivery({ messageId: 'the same' })
  await post(one.url, body)
  await one.receiver.drain()
  expect(await other.receiver.messageState('the same')).toBeUndefined()
  await post(other.url, body)
  await other.receiver.drain()
  expect(handled).toEqual(['one', 'other'])
  expect(await one.receiver.stats()).toMatchObject({ accepted: 1, duplicates: 0 })
})

test('a process with an idle receiver ends by itself', async () => {
  const script = `
        import { createReceiver } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)}
    const receiver = createReceiver({ credentials: { authKey: 'key' }, logger: false })
    receiver.onAny(() => {})
    const server = http.createServer(receiver.middleware('status'))
    await receiver.start()
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const body = JSON.stringify({ messageId: '1', status: 'success', authKey: 'key' })
    const { status } = await fetch('http://127.0.0.1:' + server.address().port, { method: 'POST', body })
    await new Promise((resolve) => setTimeout(resolve, 20))
    server.closeAllConnections()
    server.close()
    console.log(status)
  `
  const { code, stdout } = await runProgram(process.execPath, ['--input-type=module', '--eval', script])
  expect({ code, stdout }).toEqual({ code: 0, stdout: '204\n' })
})

test('answers 503 to a callback that exceeds the store capacity, and reports it', async () => {
  const store = brokenStore({ admit: (commands) => commands.map(() => ({ admission: 'full', granted: undefined })) })
  const { receiver, url, errors } = await receiving({ store })
  expect((await post(url, callback.smsDelivery())).status).toBe(503)
  expect(errors).toMatchObject([{ name: 'RefusedError', code: 'store_full', status: 503 }])
  expect(await receiver.stats()).toMatchObject({ accepted: 0, refused: 1 })
})
