/** What is forgotten, and when: payloads first, identities last, and nothing that waits. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { claim, handOverAll, sample, settlementOf, START_MS } from '../../../src/store-conformance/samples.ts'

const DAY_MS = 86_400_000

async function openFresh() {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-retention-'))
  const path = join(folder, 'inbox.db')
  const store = await sqliteStore(path).open({ onWork() {} })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  /** How many rows of a table fulfil a condition. */
  function rows(from: string): unknown {
    const db = new DatabaseSync(path, { readOnly: true })
    const row = db.prepare(`SELECT count(*) AS count FROM ${from}`).get()
    db.close()
    return row?.['count']
  }
  return { store, rows }
}

test('a settled event loses its payload after 7 days and is recognised for 30', async () => {
  const { store, rows } = await openFresh()
  await store.admit([sample()], START_MS)
  await handOverAll(store)
  await store.prune(START_MS + 7 * DAY_MS)
  expect(rows('payloads')).toBe(1)
  await store.prune(START_MS + 7 * DAY_MS + 1)
  expect(rows('payloads')).toBe(0)
  expect(await store.admit([sample()], START_MS + 30 * DAY_MS)).toEqual(['duplicate'])
  // A record goes on the day after.
  expect(await store.prune(START_MS + 31 * DAY_MS + 1)).toBeGreaterThan(0)
  expect(rows('records')).toBe(0)
  expect(await store.admit([sample()], START_MS + 32 * DAY_MS)).toEqual(['new'])
})

test('a dead letter is kept for 30 days, and what waits for ever', async () => {
  const { store, rows } = await openFresh()
  await store.admit([sample({ message: 'dead' })], START_MS)
  const [claimed] = (await claim(store)).claims
  if (claimed === undefined) throw new Error('There was nothing to claim.')
  await store.settle([settlementOf(claimed, { outcome: 'dead', error: 'no' })], START_MS)
  await store.admit([sample({ message: 'waits' })], START_MS)
  await store.prune(START_MS + 30 * DAY_MS)
  expect((await store.deadLetters({ after: undefined, limit: 9 })).items).toHaveLength(1)
  for (let step = 0; step < 3; step += 1) await store.prune(START_MS + 400 * DAY_MS)
  expect(await store.counts()).toEqual({ unsettled: 1, deadLetters: 0 })
  expect(rows('payloads')).toBe(1)
})

test('one step forgets a bounded number', async () => {
  const { store, rows } = await openFresh()
  const events = Array.from({ length: 2_200 }, (_, index) => sample({ message: `m${index}` }))
  await store.admit(events, START_MS)
  await handOverAll(store)
  for (const left of [1_200, 200, 0]) {
    await store.prune(START_MS + 8 * DAY_MS)
    expect(rows('payloads')).toBe(left)
  }
})
