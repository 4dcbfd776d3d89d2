/** A process that admits events of its own, and one that its sisters admit too. */
import { sample, START_MS } from '../../../../src/store-conformance/samples.ts'
import { sqliteStore } from '../../../../src/stores/sqlite/store.ts'

const [path = '', name = '', events = '0'] = process.argv.slice(2)
const store = await sqliteStore({ path, busyTimeoutMs: 20_000 }).open({ onWork() {} })
await store.admit([sample({ message: 'everybody' })], START_MS)
for (let at = 1; at <= Number(events); at += 1) await store.admit([sample({ message: name, at })], START_MS)
await store.close()
