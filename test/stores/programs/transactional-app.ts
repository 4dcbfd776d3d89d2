/** A worker whose handler inserts a row in the event's own transaction. It runs until it is killed. */
import { createReceiver, type Store } from '../../../src/index.ts'
import { mysqlStore } from '../../../src/stores/mysql/store.ts'
import { postgresStore } from '../../../src/stores/postgres/store.ts'

/** Written by the test that starts this program. */
export interface TransactionalApp {
  readonly engine: 'postgres' | 'mysql'
  readonly url: string
  /** The schema, or the prefix of the tables. */
  readonly name: string
  /** Inserts a message id. */
  readonly insert: string
  /** The first handler writes and never ends. */
  readonly hangs?: boolean
}

interface Transactional {
  readonly transaction: { query(statement: string, values: string[]): Promise<unknown> }
}

const LONGEST_PAUSE_MS = 20

const app = JSON.parse(process.argv[2] ?? '') as TransactionalApp
let hangs = app.hangs === true

function storeOfApp({ engine, url, name }: TransactionalApp): Store<Transactional> {
  const settings = { transactional: true, maxConnections: 8 } as const
  return engine === 'postgres'
    ? postgresStore({ connectionString: url, schema: name, pollIntervalMs: 500, ...settings })
    : mysqlStore({ uri: url, prefix: name, pollIntervalMs: 200, ...settings })
}

const receiver = createReceiver({
  credentials: { authKey: 'unused', signingSecret: 'unused' },
  store: storeOfApp(app),
  retry: { attempts: 1_000, initialDelayMs: 10, maxDelayMs: 50 },
  logger: false,
})
receiver.on('message.*', async (event, { transaction }) => {
  await transaction.query(app.insert, [event.messageId])
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
