/** Finds records that may have something past its retention, a bounded step at a time. `expire` decides what expires. */
import type { Retention } from '../../messages/expire.ts'
import { leastNumberAt } from '../sql/numbers.ts'
import { digestOf, numberValue, textOf } from './encoding.ts'
import type { Engine } from './engine.ts'

const LEAST = '-9223372036854775808'

/**
 * The walks through records and payloads continue where the last step ended, and restart after the last old one: some old
 * records must be kept because they still wait.
 */
export function createAging(
  { connections: { run }, tables }: Engine,
  { payloadMs, deadLetterMs, dedupeMs }: Retention,
): (nowMs: number, limit: number) => Promise<readonly string[]> {
  let afterRecord = LEAST
  let afterPayload: readonly [atMs: string, record: string] = [LEAST, LEAST]

  return async (nowMs, limit) => {
    const now = Math.floor(nowMs)
    const before = (ms: number): string => numberValue(Math.max(now - ms, -Number.MAX_SAFE_INTEGER))
    const { rows: records } = await run(`
SELECT r.digest, r.number FROM ${tables.records} r
WHERE r.number < ${leastNumberAt(now - dedupeMs)} AND r.number > ${afterRecord} ORDER BY r.number LIMIT ${limit}`)
    const { rows: letters } = await run(`
SELECT r.digest FROM ${tables.dead_letters} d JOIN ${tables.records} r ON r.number = d.record
WHERE d.died_at < ${before(deadLetterMs)} ORDER BY d.died_at LIMIT ${limit}`)
    const [atMs, record] = afterPayload
    const { rows: payloads } = await run(`
SELECT r.digest, p.admitted_at, p.record FROM (
  SELECT admitted_at, record FROM ${tables.payloads}
  WHERE admitted_at < ${before(payloadMs)} AND admitted_at >= ${atMs} AND (admitted_at > ${atMs} OR record > ${record})
  ORDER BY admitted_at, record LIMIT ${limit}
) p JOIN ${tables.records} r ON r.number = p.record ORDER BY p.admitted_at, p.record`)
    const [lastRecord, lastPayload] = [records.at(-1), payloads.at(-1)]
    afterRecord = lastRecord !== undefined && records.length === limit ? textOf(lastRecord, 'number') : LEAST
    const hasMorePayloads = lastPayload !== undefined && payloads.length === limit
    afterPayload = hasMorePayloads
      ? [textOf(lastPayload, 'admitted_at'), textOf(lastPayload, 'record')]
      : [LEAST, LEAST]
    return [...new Set([...records, ...letters, ...payloads].map((row) => digestOf(row, 'digest')))]
  }
}
