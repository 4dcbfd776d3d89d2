/** Opens each database file that it is asked to, as a store's thread does, and reports the result. */
import { openDatabase } from '../../../../src/stores/sqlite/database.ts'

process.on('message', (path: string) => {
  openDatabase({ path, synchronous: 'OFF', busyTimeoutMs: 5_000 }).then(
    ({ db }) => {
      db.close()
      process.send?.('open')
    },
    (error: unknown) => process.send?.(String(error)),
  )
})
process.send?.('ready')
