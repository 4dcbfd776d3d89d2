/** Tables are emptied under running processes: each of them reports it, and later events are accepted. What the SQL stores share. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessagingWebhooksError, Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { post, receiving } from '../support/receiving.ts'
import { admit, claim, eventOf, opened, settleAll } from './postgres/events.ts'

const TIMEOUT = { timeout: 60_000 }
const POLL = { timeout: 15_000 }
/** Longer than the interval of the check. */
const A_LOOK_MS = 2_500

interface EmptiedDatabase {
  readonly store: (options?: { readonly dedupeDays?: number; readonly retentionDays?: number }) => Store
  /** Runs a statement in which `{name}` is the name of a table. */
  readonly run: (statement: string) => Promise<unknown>
  /** Empties the table without losing a row for good, as maintenance does. */
  readonly rewrite: string
}

export function testEmptied(fresh: () => EmptiedDatabase): void {
  async function running(store: Store, dispatch = true) {
    const { receiver, url, errors } = await receiving({ store, dispatch, spool: false })
    await receiver.start()
    const reasons = async (): Promise<readonly string[]> => (await receiver.health()).reasons.map(({ code }) => code)
    return { receiver, url, codes: () => errors.map(({ code }) => code), reasons, errors }
  }

  test.each([
    ['all tables', ['records', 'payloads', 'dead_letters', 'workers'], 0],
    ['the records alone', ['records'], A_LOOK_MS],
  ])('every process reports TRUNCATE of %s once, and health shows it', TIMEOUT, async (_, tables, afterMs) => {
    const { store, run } = fresh()
    const worker = await running(store())
    const intake = await running(store(), false)
    const handled: string[] = []
    worker.receiver.on('message.delivered', ({ messageId }) => void handled.push(messageId))
    await post(worker.url, callback.smsDelivery({ messageId: 'before' }))
    await expect.poll(() => handled, POLL).toEqual(['before'])
    await expect.poll(async () => (await worker.receiver.stats()).unsettled, POLL).toBe(0)
    await sleep(afterMs)
    expect([worker.codes(), await worker.reasons()]).toEqual([[], []])

    for (const table of tables) await run(`TRUNCATE TABLE {${table}}`)
    for (const { codes } of [worker, intake]) await expect.poll(codes, POLL).toEqual(['store_emptied'])
    expect(worker.errors[0]?.message).toMatch(/rows are gone from .*(?:records|workers)/)
    expect(await worker.receiver.health()).toMatchObject({ live: true, ready: true, working: false })
    expect(await worker.reasons()).toEqual(['store_emptied'])
    expect(await intake.reasons()).toEqual(['store_emptied', 'not_dispatching'])

    // A process that opens afterwards knows nothing of it.
    const later = await running(store())
    expect((await post(intake.url, callback.smsDelivery({ messageId: 'after' }))).status).toBe(204)
    await expect.poll(async () => (await worker.receiver.stats()).unsettled, POLL).toBe(0)
    await sleep(A_LOOK_MS)
    expect([worker.codes(), intake.codes(), later.codes()]).toEqual([['store_emptied'], ['store_emptied'], []])
  })

  test('neither pruning nor maintenance is reported, whatever the store holds', TIMEOUT, async () => {
    const { store, run, rewrite } = fresh()
    const reports: MessagingWebhooksError[] = []
    const report = (error: MessagingWebhooksError): void => void reports.push(error)
    const open = await opened(store({ dedupeDays: 1e-5, retentionDays: 1e-5 }), { report })
    await admit(open, [eventOf('pruned')])
    expect(await settleAll(open, await claim(open))).toEqual([true])
    await sleep(A_LOOK_MS)
    const { keys } = await open.due({ of: 'retention', limit: 10 })
    expect(await open.run(keys.map((key) => ({ do: 'expire' as const, key })))).toEqual(['gone'])
    await admit(open, [eventOf('kept')])
    await sleep(A_LOOK_MS)
    await run(rewrite)
    await sleep(A_LOOK_MS)
    expect(reports).toEqual([])
  })
}
