/**
 * Cost of each report of one message with very many reports, compared with its first ones. A record is bounded, so the cost must not grow.
 * Each report is new, admitted with a lease and settled, in batches of ten. Measures the CPU time of this process, not of the server.
 *
 *     node bench/micro/many-reports.ts        # REPORTS (10,000) in each store
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import type { NewEvent, Store } from 'messaging-webhooks/store'
import { STORES } from '../contenders/stores.ts'
import { admit } from '../../src/store-conformance/samples.ts'
import { openAlone, settleDue } from '../database/calls.ts'
import { freshEvents } from './events.ts'

const REPORTS = Number(process.env['REPORTS'] ?? 10_000)
const BATCH = 10
const MEASURED = 200
/** Reports of other messages, so that the first measured reports do not include compilation. */
const WARM_UP = 2_000
const MAX_LOOKS = 1_000

function reportsOfOne(next: () => NewEvent): () => NewEvent {
  const { messageKey } = next()
  let seconds = 1_700_000_000
  return () => {
    const event = next()
    const order = `${String((seconds += 1)).padStart(12, '0')}${event.order.slice(12)}`
    return { ...event, messageKey, order }
  }
}

async function measure(name: string, store: Store<object>): Promise<void> {
  const open = await openAlone(store)
  const costs: number[] = []

  async function run(next: () => NewEvent): Promise<number> {
    const before = process.cpuUsage()
    const events = Array.from({ length: BATCH }, () => ({ ...next(), awaits: 0, step: 0 }))
    await admit(open, events)
    let looks = 0
    for (let left = BATCH; left > 0; left -= await settleDue(open, BATCH))
      if ((looks += 1) > MAX_LOOKS) throw new Error(`${name}: ${left} reports are never due.`)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / BATCH
  }

  const other = freshEvents()
  for (let at = 0; at < WARM_UP; at += BATCH) await run(other)
  const next = reportsOfOne(other)
  for (let at = 0; at < REPORTS; at += BATCH) costs.push(await run(next))
  const meanOf = (some: readonly number[]): number => some.reduce((sum, cost) => sum + cost, 0) / some.length
  const count = MEASURED / BATCH
  const [first, mean, last] = [meanOf(costs.slice(0, count)), meanOf(costs), meanOf(costs.slice(-count))]
  const [ofMean, ofLast] = [mean, last].map((cost) => (cost / first).toFixed(2))
  console.log(
    `${name}: ${first.toFixed(0)} µs each of the first ${MEASURED}; of all ${ofMean}, of the last ${MEASURED} ${ofLast} of that`,
  )
  await open.close()
}

const folder = mkdtempSync(join(tmpdir(), 'many-reports-'))
try {
  await measure('memory', memoryStore())
  await measure('sqlite', sqliteStore(join(folder, 'inbox.db')))
  for (const name of ['postgres', 'redis'] as const) {
    const made = await STORES[name].make()
    await measure(name, made.store)
    await made.close({ remove: true })
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
