/**
 * Time to erase: each store gets EVENTS settled chat-app reports (100,000), each of its own message, ten of which
 * belong to one person. Erases the person, which reads all events, and then one message by its id. Prints
 * events read per second, and the time relative to the time that accepting the events took in the same run.
 *
 *     EVENTS=100000 POSTGRES_URL=postgres://postgres@127.0.0.1:5432/test REDIS_URL=redis://127.0.0.1:6379 node bench/forgetting.ts
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { createClient } from 'redis'
import { createReceiver, type Store } from 'messaging-webhooks'
import { postgresStore } from 'messaging-webhooks/postgres'
import { redisStore } from 'messaging-webhooks/redis'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import type { NewEvent } from 'messaging-webhooks/store'
import { admit } from '../src/store-conformance/samples.ts'
import { openAlone, settleDue } from './database/calls.ts'
import { digest, smsReport } from './database/events.ts'

const EVENTS = Number(process.env['EVENTS'] ?? 100_000)
const POSTGRES_URL = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test'
const REDIS_URL = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const BATCH = 500
const PERSON = '254700000000'
const OF_THE_PERSON = 10
const SCHEMA = 'mw_bench_forgetting'
const PREFIX = 'mw-bench-forgetting'

function event(number: number): NewEvent {
  const recipient = number % (EVENTS / OF_THE_PERSON) === 0 ? PERSON : `2547${String(number).padStart(8, '1')}`
  const messageId = `m${number}`
  const statuses = { recipient, message_id: messageId, status: 'delivered', type: 'status' }
  const report = smsReport(messageId, 0, Date.now(), true)
  return {
    ...report,
    // In the receiver's format, so that it finds the message by its id.
    messageKey: digest(`7:message-${messageId.length}:${messageId}`),
    step: 2,
    record: {
      ...report.record,
      timestampSource: 'signature',
      report: {
        type: 'message.delivered',
        shape: 'chat-app',
        messageId,
        channel: 'chat-app',
        recipient,
        status: 'delivered',
      },
    },
    raw: Buffer.from(
      JSON.stringify({ project: 'My Shop', channel: 'chat-app', phone_number: '254711111111', statuses }),
    ),
  }
}

async function fill(store: Store<object>): Promise<number> {
  const open = await openAlone(store)
  const startedMs = performance.now()
  for (let from = 0; from < EVENTS; from += BATCH) {
    const events = Array.from({ length: Math.min(BATCH, EVENTS - from) }, (_, index) => event(from + index))
    await admit(open, events)
    while ((await settleDue(open, BATCH)) > 0);
  }
  const tookMs = performance.now() - startedMs
  await open.close()
  return tookMs
}

async function measure(name: string, make: () => Store<object>, size: () => number | undefined = () => undefined) {
  const filledMs = await fill(make())
  const receiver = createReceiver({
    credentials: { authKey: 'a', signingSecret: 's' },
    store: make(),
    logger: false,
    spool: false,
  })
  await receiver.start()
  const row: Record<string, number | string> = { store: name, 'admitted, s': (filledMs / 1_000).toFixed(1) }
  const byRecipient = await receiver.forget({ recipient: PERSON }, { compact: false })
  if (byRecipient.events !== OF_THE_PERSON) throw new Error(`${name} forgot ${byRecipient.events} events.`)
  row['by recipient, s'] = (byRecipient.tookMs / 1_000).toFixed(2)
  row['events read a second'] = Math.round(EVENTS / (byRecipient.tookMs / 1_000))
  row['part of taking in'] = (byRecipient.tookMs / filledMs).toFixed(2)
  const byId = await receiver.forget({ messageId: 'm1' }, { compact: false })
  if (byId.events !== 1) throw new Error(`${name} forgot ${byId.events} events.`)
  row['by message id, ms'] = Math.round(byId.tookMs)
  const bytes = size()
  if (bytes !== undefined) {
    const compacted = await receiver.forget({ messageId: 'm2' })
    row['rewriting, MiB/s'] = Math.round(bytes / 2 ** 20 / ((compacted.tookMs - byId.tookMs) / 1_000))
  }
  await receiver.close()
  return row
}

const rows = []
const folder = mkdtempSync(join(tmpdir(), 'bench-forgetting-'))
const path = join(folder, 'inbox.db')
rows.push(
  await measure(
    'SQLite',
    () => sqliteStore(path),
    () => statSync(path).size,
  ),
)
rmSync(folder, { recursive: true })

const client = new pg.Client({ connectionString: POSTGRES_URL })
await client.connect()
await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`)
rows.push(await measure('Postgres', () => postgresStore({ connectionString: POSTGRES_URL, schema: SCHEMA })))
await client.query(`DROP SCHEMA ${SCHEMA} CASCADE`)
await client.end()

const redis = createClient({ url: REDIS_URL })
await redis.connect()
async function clear(): Promise<void> {
  for await (const keys of redis.scanIterator({ MATCH: `${PREFIX}*`, COUNT: 1_000 }))
    if (keys.length > 0) await redis.unlink(keys)
}
await clear()
rows.push(await measure('Redis', () => redisStore({ client: createClient({ url: REDIS_URL }), prefix: PREFIX })))
await clear()
await redis.close()

console.table(rows)
