/** Retention removes a bounded number of events in one step, so that no other work waits long. */
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { pruneStep } from '../../../src/inbox/pruning.ts'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, samplesOf } from '../../../src/store-conformance/samples.ts'
import { ownFile } from '../../support/own-folder.ts'
import { hostOf } from '../../support/stores.ts'

test('one step removes a bounded number', async () => {
  const path = ownFile()
  // They are old after a millisecond.
  const store = await sqliteStore({ path, retentionDays: 1 / 86_400_000 }).open(hostOf())
  onTestFinished(() => store.close())
  await admit(store, samplesOf(2_200))
  await dispatchAll(store)
  const db = new DatabaseSync(path, { readOnly: true })
  onTestFinished(() => db.close())
  for (const left of [1_200, 200, 0]) {
    await pruneStep(store)
    expect(db.prepare('SELECT count(*) AS count FROM payloads').get()).toEqual({ count: left })
  }
})
