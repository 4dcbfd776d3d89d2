/** A corrupt record affects only itself, is reported once, and is repaired as far as the remaining data allows. */
import type { MessagingWebhooksError, Store } from 'messaging-webhooks'
import type { NewExpectation, OpenStore } from 'messaging-webhooks/store'
import { expect, test } from 'vitest'
import { admit, claim, sample, START_MS } from '../../src/store-conformance/samples.ts'
import { die } from '../../src/store-conformance/suite.ts'
import { checkNewerRecord } from './newer-record.ts'

/** Makes part of this record unreadable. */
type Corrupt = (key: string) => Promise<void> | void

const LATER_MS = START_MS + 120_000

function sent(message: string): NewExpectation {
  const overdueAtMs = START_MS + 60_000
  const { messageKey } = sample({ message })
  const expectation = { messageId: message, sentAtMs: START_MS, overdueAtMs }
  return { messageKey, sentAtMs: START_MS, overdueAtMs, expectation }
}

async function overdue(open: OpenStore<object>): Promise<readonly (string | undefined)[] | undefined> {
  const found = await open.overdue?.({ nowMs: LATER_MS, limit: 10 })
  return found?.items.map(({ expectation }) => expectation.messageId).toSorted()
}

async function checkCorruptSends(store: Store<object>, corrupt: Corrupt): Promise<void> {
  const reports: MessagingWebhooksError[] = []
  const open = await store.open({ onWork() {}, report: (error) => void reports.push(error) })
  try {
    const keyOf = (message: string): string => sent(message).messageKey
    await open.expect?.(['whole', 'reported', 'silent', 'other'].map(sent), START_MS)
    await corrupt(keyOf('reported'))
    await corrupt(keyOf('silent'))
    // Listing reports nothing and leaves out unreadable records.
    const page = { after: undefined, limit: 10, fromMs: 0, toMs: LATER_MS }
    const listed = await open.expectations?.(page)
    expect(listed?.items.map(({ expectation }) => expectation.messageId).toSorted()).toEqual(['other', 'whole'])
    expect(reports).toEqual([])

    await admit(open, [sample({ message: 'reported' })])
    const { claims } = await claim(open)
    expect(claims.map(({ expected }) => expected)).toEqual([undefined])
    await expect.poll(() => overdue(open)).toEqual(['other', 'whole'])
    const corrupted = ['reported', 'silent']
    for (let steps = 0; steps < 200 && reports.length < corrupted.length; steps += 1) await open.prune(LATER_MS)
    expect(await overdue(open)).toEqual(['other', 'whole'])
    expect(reports.map(({ code }) => code)).toEqual(corrupted.map(() => 'state_damaged'))
    const details = reports.map(({ detail = '' }) => detail).join('\n')
    for (const message of corrupted) expect(details).toContain(keyOf(message))
  } finally {
    await open.close()
  }
}

/** `newer`, `send` and `state` overwrite that part of the record with this key. `isAtomic`: an erasure removes everything or nothing. */
export function testCorruptRecords(
  corruptible: () => {
    readonly store: Store<object>
    readonly newer: Corrupt
    readonly send: Corrupt
    readonly state: Corrupt
  },
  { isAtomic = false } = {},
): void {
  const TIMEOUT = { timeout: 60_000 }

  test('a record of a later version', TIMEOUT, async () => {
    const { store, newer } = corruptible()
    await checkNewerRecord(store, newer, { isAtomic })
  })

  test('sends', TIMEOUT, async () => {
    const { store, send } = corruptible()
    await checkCorruptSends(store, send)
  })
}

/** Every column that is read as a number refuses one that JavaScript cannot represent: it would make other rows unreadable. */
export async function checkRefusedNumbers(
  store: Store<object>,
  columns: Readonly<Record<string, readonly string[]>>,
  set: (table: string, column: string, value: string) => Promise<unknown>,
): Promise<void> {
  const open = await store.open({ onWork() {}, claims: false })
  await die(open, [sample()])
  await admit(open, [sample({ message: 'waiting' })])
  for (const [table, names] of Object.entries(columns))
    for (const name of names)
      for (const value of ['9223372036854775807', '-9223372036854775808'])
        await expect(set(table, name, value), `${table}.${name}`).rejects.toThrow(/constraint|out of range/i)
  await open.close()
}
