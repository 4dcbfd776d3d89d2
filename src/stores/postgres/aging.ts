/** Records of which something may be past its retention, a bounded step at a time. What expires is decided elsewhere. */
import type { Retention } from '../../messages/expire.ts'
import { integer, numberValue, text } from './encoding.ts'
import type { Engine } from './engine.ts'

const DAY_MS = 86_400_000
const LEAST = -(2 ** 31)

/**
 * The walks through records and payloads go on where the last step ended, and begin anew behind the last old one: of what is old,
 * some has to be kept, for it waits.
 */
export function createAging(
  { sql, together }: Engine,
  { payloadMs, deadLetterMs, dedupeMs }: Retention,
): (nowMs: number, limit: number) => Promise<readonly string[]> {
  let afterRecord: readonly [day: number, number: number] = [LEAST, 0]
  let afterPayload: readonly [atMs: number, record: number] = [-Number.MAX_SAFE_INTEGER, 0]

  return async (nowMs, limit) => {
    const now = Math.floor(nowMs)
    const before = (ms: number): string => numberValue(Math.max(now - ms, -Number.MAX_SAFE_INTEGER))
    const day = numberValue(Math.floor((now - dedupeMs) / DAY_MS))
    const [records = [], letters = [], payloads = []] = await together(
      sql(`
SELECT encode(r.key, 'hex') AS key, r.last_day, r.number FROM {schema}.records r
WHERE r.last_day <= ${day} AND (r.last_day, r.number) > (${afterRecord.map(numberValue).join(', ')})
ORDER BY r.last_day, r.number LIMIT ${limit};
SELECT encode(r.key, 'hex') AS key FROM {schema}.dead_letters d JOIN {schema}.records r ON r.number = d.record
WHERE d.died_at < ${before(deadLetterMs)} ORDER BY d.died_at LIMIT ${limit};
SELECT encode(r.key, 'hex') AS key, p.admitted_at, p.record FROM (
  SELECT admitted_at, record FROM {schema}.payloads
  WHERE admitted_at < ${before(payloadMs)} AND (admitted_at, record) > (${afterPayload.map(numberValue).join(', ')})
  ORDER BY admitted_at, record LIMIT ${limit}
) p JOIN {schema}.records r ON r.number = p.record;`),
    )
    const [record, payload] = [records.at(-1), payloads.at(-1)]
    const hasMoreRecords = record !== undefined && records.length === limit
    afterRecord = hasMoreRecords ? [integer(record, 'last_day'), integer(record, 'number')] : [LEAST, 0]
    const hasMorePayloads = payload !== undefined && payloads.length === limit
    afterPayload = hasMorePayloads
      ? [integer(payload, 'admitted_at'), integer(payload, 'record')]
      : [-Number.MAX_SAFE_INTEGER, 0]
    return [...new Set([...records, ...letters, ...payloads].map((row) => text(row, 'key')))]
  }
}
