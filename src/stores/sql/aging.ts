/** Finds records that may contain expired events, in bounded steps. `expire` decides what expires. */
import type { Retention } from '../../messages/expire.ts'
import type { Dialect } from './dialect.ts'
import { leastNumberAt } from './numbers.ts'
import { LEAST, timeValue } from './values.ts'

/**
 * The walks through records and payloads continue where the last step ended, because some old records must be kept: they still
 * wait. They restart after the last old one.
 */
export function createAging(
  { tables, keyColumn, digestIn, bigintValue, comparePair, rows, rowsOf }: Dialect,
  { payloadMs, deadLetterMs, dedupeMs }: Retention,
): (nowMs: number, limit: number) => Promise<readonly string[]> {
  const key = `${digestIn(`r.${keyColumn}`)} AS digest`
  let afterRecord = LEAST
  let afterPayload: readonly [atMs: string, record: string] = [LEAST, LEAST]

  return async (nowMs, limit) => {
    const now = Math.floor(nowMs)
    const [records = [], letters = [], payloads = []] = await rowsOf(
      `
SELECT ${key}, r.number FROM ${tables.records} r
WHERE r.number < ${leastNumberAt(now - dedupeMs)} AND r.number > ${bigintValue(afterRecord)} ORDER BY r.number LIMIT ${limit}`,
      `
SELECT ${key} FROM ${tables.dead_letters} d JOIN ${tables.records} r ON r.number = d.record
WHERE d.died_at < ${timeValue(now - deadLetterMs)} ORDER BY d.died_at LIMIT ${limit}`,
      `
SELECT ${key}, p.admitted_at, p.record FROM (
  SELECT admitted_at, record FROM ${tables.payloads}
  WHERE admitted_at < ${timeValue(now - payloadMs)} AND ${comparePair(['admitted_at', 'record'], '>', afterPayload)}
  ORDER BY admitted_at, record LIMIT ${limit}
) p JOIN ${tables.records} r ON r.number = p.record ORDER BY p.admitted_at, p.record`,
    )
    const [record, payload] = [records.at(-1), payloads.at(-1)]
    afterRecord = record !== undefined && records.length === limit ? rows.digits(record, 'number') : LEAST
    const hasMorePayloads = payload !== undefined && payloads.length === limit
    afterPayload = hasMorePayloads
      ? [rows.digits(payload, 'admitted_at'), rows.digits(payload, 'record')]
      : [LEAST, LEAST]
    return [...new Set([...records, ...letters, ...payloads].map(rows.keyIn))]
  }
}
