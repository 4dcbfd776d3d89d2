/**
 * Bytes that MESSAGES completed messages (100,000) take in each store, scaled to a million, with one and with three reports
 * each: right after the load, and after the tables were rebuilt, without the space that is free for reuse. Payloads are removed
 * after `retentionDays`, records after `dedupeDays`. The last line says what a callback takes in the spool.
 *
 *     npm run bench:storage                                  # MESSAGES (100,000), REPORTS (1,3), STORES (all)
 *     COSTS=bench/capacity/costs.json npm run bench:storage  # for `bench:capacity`
 *
 * Rebuilt with VACUUM FULL (Postgres), OPTIMIZE TABLE (MySQL), VACUUM (SQLite) and BGREWRITEAOF (Redis).
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver, type Receiver, type Store } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { recordCosts } from './capacity/costs.ts'
import { chosenStores, type SharedStore } from './contenders/shared.ts'
import { createPlace, type Place } from './database/sizes.ts'

const MESSAGES = Number(process.env['MESSAGES'] ?? 100_000)
const REPORTS = (process.env['REPORTS'] ?? '1,3').split(',').map(Number)
const AUTH_KEY = 'a key of the benchmark'
/** Messages whose first reports arrive before their second ones. */
const BLOCK = 1_000
const AT_ONCE = 250
const DRAIN_MS = 600_000

/** The bytes of the last body, all of which are about as long. */
let bodyBytes = 0

function bodyOf(messageId: string, report: number, isLast: boolean, beganSeconds: number): Buffer {
  const words = isLast ? { status: 'success' } : { status: 'queued', statusCode: '13' }
  const fields = { authKey: AUTH_KEY, messageId, timestamp: beganSeconds + report, ...words }
  const body = Buffer.from(JSON.stringify(callback.smsDelivery(fields)))
  bodyBytes = body.length
  return body
}

async function send(receiver: Receiver, messages: number, reports: number): Promise<void> {
  const beganSeconds = Math.floor(Date.now() / 1_000)
  for (let sent = 0; sent < messages; sent += BLOCK) {
    const ids = Array.from({ length: Math.min(BLOCK, messages - sent) }, () => randomUUID())
    for (let report = 0; report < reports; report += 1)
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const answers = ids.slice(at, at + AT_ONCE).map((id) => {
          const body = bodyOf(id, report, report === reports - 1, beganSeconds)
          return receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
        })
        const refused = (await Promise.all(answers)).find(({ status }) => status !== 204)
        if (refused !== undefined) throw new Error(`A callback was answered ${refused.status}.`)
      }
  }
}

function receiverOn(store: Store, spool: string | false, onDelivered: () => void = () => {}): Receiver {
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY }, store, spool, logger: false })
  receiver.on('message.delivered', onDelivered)
  return receiver
}

async function load(place: Place, reports: number): Promise<void> {
  const receiver = receiverOn(place.store, false)
  await receiver.start()
  await send(receiver, MESSAGES, reports)
  if (!(await receiver.drain({ deadlineMs: DRAIN_MS }))) throw new Error('The events were not dispatched.')
  await receiver.close()
}

async function measure(name: SharedStore, reports: number): Promise<void> {
  const place = await createPlace(name)
  try {
    await load(place, reports)
    const loaded = await place.sizes()
    await place.rebuild()
    const rebuilt = await place.sizes()
    const row = (label: string, cells: readonly (number | undefined)[]): void => {
      const text = cells.map((bytes) => (bytes === undefined ? '' : megabytes(bytes / MESSAGES)))
      console.log(`| ${[`${name}${label}, ${reports}`, ...text].join(' | ')} |`)
    }
    const { payloads, records, log } = loaded
    row('', [payloads.table, payloads.indexes, records.table, records.indexes, loaded.all, rebuilt.all])
    if (log !== undefined) row(' file', [undefined, undefined, undefined, undefined, log, rebuilt.log])
    const bytes = {
      payloads: Math.round((payloads.table + (payloads.indexes ?? 0)) / MESSAGES),
      records: Math.round((records.table + (records.indexes ?? 0)) / MESSAGES),
    }
    recordCosts((costs) => ({
      ...costs,
      messages: { ...costs.messages, [name]: { ...costs.messages[name], [reports]: bytes } },
    }))
  } finally {
    await place.remove()
  }
}

/** Bytes per message are megabytes per million messages. */
const megabytes = (bytes: number): string => Math.round(bytes).toLocaleString('en')

/** A store that cannot be opened leaves everything in the spool. */
async function measureSpool(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-spool-'))
  try {
    let isUp = false
    let upMs = 0
    let handled = 0
    const store = sqliteStore(join(folder, 'inbox.db'))
    const receiver = receiverOn(
      {
        capabilities: store.capabilities,
        open(host) {
          if (!isUp) throw new Error('The store of the benchmark is unavailable.')
          upMs = performance.now()
          return store.open(host)
        },
      },
      join(folder, 'spool'),
      () => void (handled += 1),
    )
    await receiver.start()
    await send(receiver, MESSAGES, 1)
    const bytes = statSync(join(folder, 'spool', 'local.db')).size / MESSAGES
    isUp = true
    await receiver.drain({ deadlineMs: DRAIN_MS })
    if (handled !== MESSAGES) throw new Error(`${handled} of ${MESSAGES} events left the spool.`)
    const rate = MESSAGES / ((performance.now() - upMs) / 1_000)
    await receiver.close()
    console.log(
      `\nThe spool takes ${bytes.toFixed(0)} bytes a callback, whose body has ${bodyBytes}. One process emptied it into SQLite, and ` +
        `dispatched its events, at ${Math.round(rate).toLocaleString('en')} a second.`,
    )
    recordCosts((costs) => ({ ...costs, spoolBytes: Math.round(bytes) }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const HEAD = [
  'MB per million messages: store, reports',
  'payloads',
  'their indexes',
  'records',
  'their indexes',
  'everything',
  'everything, rebuilt',
]

console.log(`${MESSAGES} messages\n\n| ${HEAD.join(' | ')} |\n|${' --- |'.repeat(HEAD.length)}`)
for (const name of chosenStores()) for (const reports of REPORTS) await measure(name, reports)
await measureSpool()
