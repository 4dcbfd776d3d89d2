/** Retention erases a bounded number of events in one step, so that no other work waits long. */
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { DAY_MS, dispatchAll, samplesOf, START_MS } from '../../../src/store-conformance/samples.ts'
import { ownFile } from '../../support/own-folder.ts'

test('one step erases a bounded number', async () => {
  const path = ownFile()
  const store = await sqliteStore(path).open({ onWork() {} })
  onTestFinished(() => store.close())
  await store.admit(samplesOf(2_200), START_MS)
  await dispatchAll(store)
  for (const left of [1_200, 200, 0]) {
    await store.prune(START_MS + 8 * DAY_MS)
    const db = new DatabaseSync(path, { readOnly: true })
    expect(db.prepare('SELECT count(*) AS count FROM payloads').get()).toEqual({ count: left })
    db.close()
  }
})
