/** A process that opens the store, claims what is due for longer than any test runs, prints what it got, and waits to be killed. */
import { claim } from '../../../../src/store-conformance/samples.ts'
import { sqliteStore } from '../../../../src/stores/sqlite/store.ts'
import { hostOf } from '../../../support/stores.ts'

const [path = ''] = process.argv.slice(2)
const store = await sqliteStore({ path, busyTimeoutMs: 20_000 }).open(hostOf())
const { claims } = await claim(store)
process.send?.({ claims: claims.map(({ id, messageKey, token, attempt }) => ({ id, messageKey, token, attempt })) })
// The parent's end of this channel keeps the process alive.
process.on('message', () => {})
