/** What is forgotten, and when: payloads first, identities last, and nothing that waits. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { handOverAll, sample, START_MS } from '../../../src/store-conformance/samples.ts'

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
