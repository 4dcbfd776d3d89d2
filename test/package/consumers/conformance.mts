// A project that tests a store of its own, in TypeScript.
import { memoryStore, type Store } from 'messaging-webhooks'
import { sqliteStore, type SqliteStoreOptions } from 'messaging-webhooks/sqlite'
import { storeConformance, type StoreUnderTest } from 'messaging-webhooks/store-conformance'

const settings: SqliteStoreOptions = { path: 'inbox.db', retentionDays: 3, synchronous: 'FULL' }
const sqlite: Store = sqliteStore(settings)
// @ts-expect-error A misspelt setting does not compile.
const misspelt = () => sqliteStore({ path: 'inbox.db', retention: 3 })

const tests: (() => unknown)[] = []
let skipped = 0
storeConformance({
  test: (_name, run) => void tests.push(run),
  skip: () => void (skipped += 1),
  makeStore: (): StoreUnderTest => ({ store: memoryStore() }),
  capabilities: memoryStore().capabilities,
  // The memory store keeps payloads as long as identities.
  leavesOut: ['retention'],
  interleavings: 10,
})
for (const run of tests) await run()
console.log(tests.length > 20, skipped > 0, sqlite.capabilities.name, typeof misspelt)
