/** A worker whose handler inserts a row in the event's own transaction. It runs until it is killed. */
import { createReceiver, type Store } from '../../../../src/index.ts'
import { mysqlStore, type MysqlContext } from '../../../../src/stores/mysql/store.ts'

/** Shorter than the receiver's default, so that a killed worker's events return while the test watches. */
const LEASE_MS = 2_000
const LONGEST_PAUSE_MS = 20

const [uri = '', prefix = '', how] = process.argv.slice(2)
/** The first handler writes and never ends. */
let hangs = how === 'hangs'
const mysql = mysqlStore({ uri, prefix, transactional: true, maxConnections: 8, pollIntervalMs: 200 })
const store: Store<MysqlContext> = {
  capabilities: mysql.capabilities,
  async open(host) {
    const open = await mysql.open(host)
    return { ...open, claim: (request) => open.claim({ ...request, leaseUntilMs: request.nowMs + LEASE_MS }) }
  },
}
const receiver = createReceiver({
  credentials: { authKey: 'unused', signingSecret: 'unused' },
  store,
  retry: { attempts: 1_000, initialDelayMs: 10, maxDelayMs: 50 },
  logger: false,
})
receiver.on('message.*', async (event, { transaction }) => {
  await transaction.query(`INSERT INTO \`${prefix}_written\` VALUES (?)`, [event.messageId])
  if (hangs) {
    hangs = false
    process.send?.('written')
    await new Promise(() => {})
  }
  // Between the row and the settlement, where a crash would do harm.
  await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_PAUSE_MS))
})
await receiver.start()
process.send?.('ready')
