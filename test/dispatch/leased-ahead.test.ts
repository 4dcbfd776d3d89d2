/** More events than slots: with quick handlers, an admission leases events that then wait for a slot. */
import { describe, expect, test } from 'vitest'
import { claim } from '../../src/store-conformance/samples.ts'
import { atRest } from '../support/fake-clock.ts'
import { gate } from '../support/gate.ts'
import { leasingReceiver } from '../support/leasing.ts'
import { leasingStore, newLeasing } from '../support/stores.ts'

interface Given {
  readonly concurrency: number
  readonly handlerTimeoutMs?: number
  readonly durable?: boolean
  readonly gives?: boolean
}

/** A receiver with a handler whose duration the test sets, and that counts its concurrent runs. */
async function burstReceiver({ durable = false, gives = false, ...options }: Given) {
  const leasing = newLeasing()
  const all = await leasingReceiver({ ...options, store: leasingStore(leasing, { durable, gives }) })
  const { receiver, server, send, clock } = all
  const begun: { readonly messageId: string; readonly attempt: number; readonly signal: AbortSignal }[] = []
  const running = new Set<string>()
  const runs = { most: 0, twice: 0, handling: atRest }
  receiver.on('message.*', async ({ messageId }, { attempt, signal }) => {
    begun.push({ messageId, attempt, signal })
    if (running.has(messageId)) runs.twice += 1
    running.add(messageId)
    runs.most = Math.max(runs.most, running.size)
    await runs.handling()
    running.delete(messageId)
  })

  /** Runs one event whose handlers take this long, which sets the known pace from then on. */
  async function paced(messageId: string, ms: number): Promise<void> {
    const { handling } = runs
    runs.handling = () => new Promise((resolve) => clock.setTimer(resolve, ms))
    await send(messageId)
    await expect.poll(() => running.has(messageId)).toBe(true)
    await clock.advance(ms)
    await expect.poll(() => receiver.stats()).toMatchObject({ running: 0, unsettled: 0 })
    runs.handling = handling
  }

  /** Callbacks that arrive during an admission, and so are admitted together. Resets the counts; resolves when all are answered. */
  async function burst(count: number, name = 'burst'): Promise<readonly string[]> {
    const { open, opened } = gate()
    let arrived = 0
    server.on('request', () => (arrived += 1))
    leasing.before = () => opened
    const ids = Array.from({ length: count }, (_, index) => `${name}-${index}`)
    const answers = Promise.all(ids.map(send))
    await expect.poll(() => arrived).toBe(count)
    await atRest()
    begun.length = 0
    leasing.leased = 0
    leasing.calls.due = 0
    open()
    expect(new Set((await answers).map(({ status }) => status))).toEqual(new Set([204]))
    return ids
  }

  /** Handlers wait until the gate is opened. */
  function hold(): () => void {
    const { open, opened } = gate()
    runs.handling = () => opened
    return open
  }

  const handled = (): readonly string[] => begun.map(({ messageId }) => messageId).toSorted()
  return { ...all, leasing, begun, running, runs, paced, burst, hold, handled }
}

test('with quick handlers, an admission leases a whole burst, and the concurrency limit holds', async () => {
  const { receiver, leasing, runs, paced, burst, handled } = await burstReceiver({ concurrency: 4 })
  await paced('first', 0)
  const ids = await burst(16)
  await expect.poll(() => receiver.stats()).toMatchObject({ running: 0, unsettled: 0 })
  expect(handled()).toEqual(ids.toSorted())
  expect(leasing).toMatchObject({ leased: 16, calls: { due: 0 } })
  expect(runs).toMatchObject({ most: 4, twice: 0 })
})

describe('events leased with their admission, of a burst of forty with four slots', () => {
  test('no more than there are slots when handlers are slow; the others follow', async () => {
    const { receiver, leasing, running, runs, paced, burst, hold, handled } = await burstReceiver({ concurrency: 4 })
    await paced('first', 5_000)
    const open = hold()
    const ids = await burst(40)
    await expect.poll(() => running.size).toBe(4)
    await atRest()
    expect(leasing.leased).toBe(4)
    expect(await receiver.stats()).toMatchObject({ running: 4, unsettled: 40 })
    open()
    expect(await receiver.drain()).toBe(true)
    expect(handled()).toEqual(ids.toSorted())
    expect(runs).toMatchObject({ most: 4, twice: 0 })
  })

  test('no more than there are slots while the pace of the handlers is unknown', async () => {
    const { leasing, running, burst, hold } = await burstReceiver({ concurrency: 4 })
    hold()
    await burst(40)
    await expect.poll(() => running.size).toBe(4)
    expect(leasing.leased).toBe(4)
  })

  test('no more than there are slots after one slow attempt, and more again after many quick ones', async () => {
    const { receiver, leasing, paced, burst, hold } = await burstReceiver({ concurrency: 4 })
    await paced('quick', 0)
    await paced('slow', 400)
    await paced('quick again', 0)
    const open = hold()
    await burst(40, 'after a slow one')
    expect(leasing.leased).toBe(4)
    open()
    expect(await receiver.drain()).toBe(true)
    for (let index = 0; index < 10; index += 1) await paced(`quick-${index}`, 0)
    hold()
    await burst(40, 'after quick ones')
    expect(leasing.leased).toBeGreaterThan(4)
  })

  test('no more than there are slots when the store gives handlers a transaction, however quick they are', async () => {
    const { receiver, leasing, running, paced, burst, hold, handled } = await burstReceiver({
      concurrency: 4,
      gives: true,
    })
    await paced('first', 0)
    const open = hold()
    const ids = await burst(40)
    await expect.poll(() => running.size).toBe(4)
    await atRest()
    expect(leasing.leased).toBe(4)
    expect(await receiver.stats()).toMatchObject({ running: 4 })
    open()
    expect(await receiver.drain()).toBe(true)
    expect(handled()).toEqual(ids.toSorted())
  })
})

describe('handlers that suddenly become slow', () => {
  const HANDLING_MS = 9_000

  /** Two slots and eight leased events, of which four can begin early enough to end within their leases. */
  async function turnedSlow() {
    const all = await burstReceiver({ concurrency: 2, handlerTimeoutMs: 10_000 })
    const { clock, leasing, runs, paced, burst } = all
    await paced('first', 0)
    runs.handling = () => new Promise((resolve) => clock.setTimer(resolve, HANDLING_MS))
    const ids = await burst(8)
    await clock.advance(0)
    expect(leasing.leased).toBe(8)
    return { ...all, ids }
  }

  test('do not begin events that could outlast their lease; those run under a new lease, as the first attempt', async () => {
    const { receiver, clock, runs, begun, handled, ids, errors } = await turnedSlow()
    expect(begun).toHaveLength(2)
    await clock.advance(2 * HANDLING_MS)
    expect(begun).toHaveLength(6)
    expect(await receiver.stats()).toMatchObject({ running: 2, unsettled: 4 })
    expect(await receiver.drain({ deadlineMs: 0 })).toBe(false)
    await clock.advance(2 * HANDLING_MS)
    expect(await receiver.stats()).toMatchObject({ running: 0, unsettled: 0, deadLetters: 0 })
    expect(handled()).toEqual(ids.toSorted())
    expect(begun.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    expect(runs).toMatchObject({ most: 2, twice: 0 })
    expect(errors).toEqual([])
  })
})

describe('with events that wait for a slot', () => {
  async function waiting(options: { readonly durable?: boolean } = {}) {
    const all = await burstReceiver({ concurrency: 2, handlerTimeoutMs: 10_000, ...options })
    await all.paced('first', 0)
    const open = all.hold()
    const ids = await all.burst(8)
    await expect.poll(() => all.running.size).toBe(2)
    expect(all.leasing.leased).toBe(8)
    return { ...all, open, ids }
  }

  /** Whether a promise is still pending when everything else is idle. */
  async function isPending(work: Promise<unknown>): Promise<boolean> {
    await atRest()
    return Promise.race([work.then(() => false), Promise.resolve(true)])
  }

  test('drain() waits for them', async () => {
    const { receiver, open, ids, handled } = await waiting()
    const drained = receiver.drain()
    expect(await isPending(drained)).toBe(true)
    open()
    expect(await drained).toBe(true)
    expect(handled()).toEqual(ids.toSorted())
  })

  test.each([true, false])('close() dispatches them first (durable: %s)', async (durable) => {
    const { receiver, server, open, ids, handled, runs, leasing } = await waiting({ durable })
    server.close()
    server.closeIdleConnections()
    const closed = receiver.close({ deadlineMs: 5_000 })
    expect(await isPending(closed)).toBe(true)
    open()
    await closed
    expect(handled()).toEqual(ids.toSorted())
    expect(runs).toMatchObject({ most: 2, twice: 0 })
    expect(await leasing.elsewhere?.counts()).toMatchObject({ unsettled: 0 })
  })

  test('close() begins none of them after its deadline, and releases them', async () => {
    const { receiver, server, clock, open, begun, handled, ids, leasing } = await waiting({ durable: true })
    server.close()
    server.closeIdleConnections()
    const closed = receiver.close({ deadlineMs: 5_000 })
    await clock.advance(5_000)
    await closed
    expect(begun.map(({ signal }) => signal.aborted)).toEqual([true, true])
    open()
    await atRest()
    expect(begun).toHaveLength(2)
    const released = ids.filter((id) => !handled().includes(id)).toSorted()
    const { elsewhere } = leasing
    const found = elsewhere === undefined ? [] : (await claim(elsewhere)).claims
    const names = found.map(({ record, attempt }) => `${record.report?.messageId} ${attempt}`)
    expect(names.toSorted()).toEqual(released.map((id) => `${id} 1`))
  })
})
