/** The workers that have the file open, each by its name. */

import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import type { OpenStore } from 'messaging-webhooks/store'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, sample, settlementOf, START_MS } from '../../../src/store-conformance/samples.ts'
import { ownFile } from '../../support/own-folder.ts'

async function open(path: string, claims = true): Promise<OpenStore> {
  const opened = await sqliteStore(path).open({ onWork() {}, claims })
  onTestFinished(async () => {
    await opened.close()
  })
  return opened
}

const WHO = `${hostname()}:${process.pid}`

test('a worker has the name of its process, its opening time, and its count of leased events', async () => {
  const store = await open(ownFile())
  const beforeMs = Date.now()
  await admit(
    store,
    ['a', 'b', 'c'].map((message) => sample({ message })),
  )
  const [first] = (await claim(store, { limit: 2 })).claims
  if (first === undefined) throw new Error('There was nothing to claim.')
  const [worker, ...none] = (await store.workers?.()) ?? []
  expect(none).toEqual([])
  expect(worker).toMatchObject({ name: WHO, isSelf: true, silentMs: 0, held: 2 })
  expect(worker?.sinceMs).toBeGreaterThan(beforeMs - 60_000)
  expect(worker?.sinceMs).toBeLessThanOrEqual(beforeMs)
  await store.settle([settlementOf(first, { outcome: 'done' })], START_MS)
  expect(await store.workers?.()).toMatchObject([{ id: worker?.id, held: 1 }])
})

test('lists no worker without a folder', async () => {
  const path = ownFile()
  const store = await open(path)
  const db = new DatabaseSync(path)
  db.exec("INSERT INTO workers (name, process, since) VALUES ('v1-0123456789ab', '', 0), ('odd', '', 0)")
  db.close()
  expect(await store.workers?.()).toMatchObject([{ name: WHO, isSelf: true }])
})
