/** A process that opens the store, claims what is due for ten minutes, prints what it got, and waits to be killed. */
import { claim } from '../../../../src/store-conformance/samples.ts'
import { sqliteStore } from '../../../../src/stores/sqlite/store.ts'

const [path = ''] = process.argv.slice(2)
const store = await sqliteStore({ path, busyTimeoutMs: 20_000 }).open({ onWork() {} })
const nowMs = Date.now()
const { claims } = await claim(store, { nowMs, leaseUntilMs: nowMs + 600_000 })
process.send?.({ claims: claims.map(({ id, messageKey, token, attempt }) => ({ id, messageKey, token, attempt })) })
// The parent's end of this channel keeps the process alive.
process.on('message', () => {})
