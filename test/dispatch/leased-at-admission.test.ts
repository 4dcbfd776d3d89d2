/** Events leased at their admission: order, fairness, the limit, and no forgotten events. */
import { describe, expect, test } from 'vitest'
import { admit } from '../../src/store-conformance/samples.ts'
import { atRest } from '../support/fake-clock.ts'
import { gate } from '../support/gate.ts'
import { holdFirst, leasingReceiver } from '../support/leasing.ts'
import { post } from '../support/receiving.ts'
import { leasingStore, newLeasing } from '../support/stores.ts'

test('an event runs after its answer, under the lease of its admission, without a claim', async () => {
  const { receiver, leasing, send } = await leasingReceiver()
  const { due } = leasing.calls
  const handled: string[] = []
  receiver.on('message.*', ({ messageId }, { attempt }) => void handled.push(`${messageId} ${attempt}`))
  expect(await send('a')).toMatchObject({ status: 204 })
  await expect.poll(() => handled).toEqual(['a 1'])
  expect(leasing).toMatchObject({ leased: 1, calls: { admit: 0, leasing: 1, due } })
  await expect.poll(() => receiver.stats()).toMatchObject({ accepted: 1, running: 0, unsettled: 0 })
})

test('an event admitted while its message runs is next, at once and in order', async () => {
  const { receiver, url, report, leasing } = await leasingReceiver()
  const { handled, release } = holdFirst(receiver)
  await post(url, report('a', 'queued'))
  await expect.poll(() => handled).toEqual(['queued'])
  await post(url, report('a', 'network_failure'))
  await post(url, report('a', 'success'))
  expect(handled).toEqual(['queued'])
  release()
  // The clock stands still: nothing here depends on a timer.
  await expect.poll(() => handled).toEqual(['queued', 'network_failure', 'success'])
  await expect.poll(() => receiver.stats()).toMatchObject({ unsettled: 0 })
  expect(leasing.leased).toBe(1)
})

test('events of the same batch, or before it, run next too', async () => {
  const { receiver, server, url, report, leasing, send } = await leasingReceiver()
  const { open, opened } = gate()
  const { open: release, opened: released } = gate()
  const handled: string[] = []
  receiver.on('message.*', async ({ messageId, status }) => {
    if (messageId === 'a') handled.push(String(status))
    if (messageId === 'a') await released
  })
  let arrived = 0
  server.on('request', () => (arrived += 1))
  leasing.before = () => opened
  // One admission is in flight, so the next two share a batch.
  const answers: Promise<unknown>[] = []
  for (const begin of [
    () => send('b'),
    () => post(url, report('a', 'success')),
    () => post(url, report('a', 'queued')),
  ]) {
    answers.push(begin())
    await expect.poll(() => arrived).toBe(answers.length)
    await atRest()
  }
  open()
  await Promise.all(answers)
  await expect.poll(() => handled).toEqual(['queued'])
  release()
  // The clock stands still: nothing here depends on a timer.
  await expect.poll(() => handled).toEqual(['queued', 'success'])
})

test('older events go first while there is a backlog', async () => {
  const { receiver, leasing, send } = await leasingReceiver({ concurrency: 1 })
  const { open, opened } = gate()
  const handled: string[] = []
  receiver.on('message.*', async ({ messageId }) => {
    handled.push(messageId)
    await opened
  })
  const ids = Array.from({ length: 8 }, (_, index) => `a${index}`)
  for (const id of ids) await send(id)
  await expect.poll(() => handled).toEqual(['a0'])
  open()
  const later = ['b0', 'b1', 'b2']
  for (const id of later) await send(id)
  expect(await receiver.drain()).toBe(true)
  expect(handled.slice(0, ids.length)).toEqual(ids)
  expect(handled.toSorted()).toEqual([...ids, ...later].toSorted())
  // Without the backlog, new events are leased at admission again.
  const { leased } = leasing
  await send('c')
  await expect.poll(() => handled.at(-1)).toBe('c')
  expect(leasing.leased).toBe(leased + 1)
})

describe('successful attempts', () => {
  test('of events leased at admission need no search', async () => {
    const { receiver, leasing, clock, send } = await leasingReceiver()
    receiver.on('message.*', () => {})
    const { due } = leasing.calls
    for (let index = 0; index < 10; index += 1) await send(`a${index}`)
    await expect.poll(() => receiver.stats()).toMatchObject({ unsettled: 0, running: 0 })
    await clock.advance(60_000)
    expect(leasing.calls.due).toBe(due)
  })

  test.each([false, true])(
    'leave no event behind that another process admitted meanwhile, in transactions %s',
    async (gives) => {
      const leasing = newLeasing()
      const { receiver, send } = await leasingReceiver({ store: leasingStore(leasing, { gives }) })
      const { handled, release } = holdFirst(receiver)
      await send('a')
      await expect.poll(() => handled).toHaveLength(1)
      // Another process admits it, without a notification.
      const [first] = leasing.seen
      const { elsewhere } = leasing
      if (first !== undefined && elsewhere !== undefined)
        await admit(elsewhere, [{ ...first, id: 'f'.repeat(32), order: `${first.order}z` }])
      release()
      await expect.poll(() => receiver.stats()).toMatchObject({ unsettled: 0 })
      expect(handled).toHaveLength(2)
    },
  )
})

describe('an admission in flight', () => {
  test('releases its capacity when it fails', async () => {
    const { receiver, leasing, send } = await leasingReceiver({ concurrency: 1 })
    const handled: string[] = []
    receiver.on('message.*', ({ messageId }) => void handled.push(messageId))
    leasing.before = () => Promise.reject(new Error('The store is unavailable.'))
    // Admitted without a lease at the second try, because the event may be the cause.
    await send('a')
    await expect.poll(() => handled).toEqual(['a'])
    leasing.before = undefined
    await send('b')
    await expect.poll(() => handled).toEqual(['a', 'b'])
    expect(await receiver.drain()).toBe(true)
  })

  test('that answers too late is answered 503 in time, and what it leased still runs, once', async () => {
    const { receiver, leasing, clock, send } = await leasingReceiver({ concurrency: 1, storeTimeoutMs: 500 })
    const handled: string[] = []
    receiver.on('message.*', ({ messageId }) => void handled.push(messageId))
    const { open, opened } = gate()
    leasing.after = () => opened
    const answer = send('a')
    await expect.poll(() => leasing.leased).toBe(1)
    await clock.advance(500)
    expect(await answer).toMatchObject({ status: 503 })
    expect(handled).toEqual([])
    open()
    await expect.poll(() => handled).toEqual(['a'])
    expect(await receiver.drain()).toBe(true)
  })

  test('whose answer is lost leaves an event that runs when its lease has expired', async () => {
    const { receiver, leasing, clock, send } = await leasingReceiver({ handlerTimeoutMs: 1_000 })
    const handled: string[] = []
    receiver.on('message.*', ({ messageId }, { attempt }) => void handled.push(`${messageId} ${attempt}`))
    leasing.after = () => Promise.reject(new Error('The connection was cut.'))
    await send('a')
    await clock.advance(11_000)
    expect(handled).toEqual([])
    await clock.advance(60_000)
    expect(handled).toEqual(['a 2'])
  })

  test('delays close(), and what it leased is dispatched', async () => {
    const { receiver, leasing, server, send } = await leasingReceiver({ clock: () => Date.now() })
    const handled: string[] = []
    receiver.on('message.*', ({ messageId }) => void handled.push(messageId))
    const { open, opened } = gate()
    leasing.after = () => opened
    const answer = send('a')
    await expect.poll(() => leasing.leased).toBe(1)
    server.close()
    const closed = receiver.close({ deadlineMs: 5_000 })
    await atRest()
    open()
    expect(await answer).toMatchObject({ status: 204 })
    server.closeIdleConnections()
    await closed
    expect(handled).toEqual(['a'])
  })
})

test('drain() does not search for due events when nothing is left', async () => {
  const { receiver, leasing, clock, send } = await leasingReceiver()
  receiver.on('message.*', () => {})
  await send('a')
  const { due } = leasing.calls
  expect(await receiver.drain()).toBe(true)
  await clock.advance(1_000)
  expect(leasing.calls.due).toBe(due)
})
