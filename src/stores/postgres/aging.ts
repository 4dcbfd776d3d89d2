/** Finds records that may contain expired events, in bounded steps. `expire` decides what expires. */
import type { Retention } from '../../messages/expire.ts'
import { leastNumberAt } from '../sql/numbers.ts'
import { numberValue, text } from './encoding.ts'
import type { Engine } from './engine.ts'

const LEAST = '-9223372036854775808'

/**
 * The walks through records and payloads continue where the last step ended, because some old records must be kept. They
 * restart after the last old one.
 */
export function createAging(
  { schema, together }: Engine,
  { payloadMs, deadLetterMs, dedupeMs }: Retention,
): (nowMs: number, limit: number) => Promise<readonly string[]> {
  let afterRecord = LEAST
  let afterPayload: readonly [atMs: string, record: string] = [LEAST, LEAST]

  return async (nowMs, limit) => {
    const now = Math.floor(nowMs)
    const before = (ms: number): string => numberValue(Math.max(now - ms, -Number.MAX_SAFE_INTEGER))
    const [records = [], letters = [], payloads = []] = await together(`
SELECT encode(r.key, 'hex') AS key, r.number FROM ${schema}.records r
WHERE r.number < ${leastNumberAt(now - dedupeMs)} AND r.number > '${afterRecord}' ORDER BY r.number LIMIT ${limit};
SELECT encode(r.key, 'hex') AS key FROM ${schema}.dead_letters d JOIN ${schema}.records r ON r.number = d.record
WHERE d.died_at < ${before(deadLetterMs)} ORDER BY d.died_at LIMIT ${limit};
SELECT encode(r.key, 'hex') AS key, p.admitted_at, p.record FROM (
  SELECT admitted_at, record FROM ${schema}.payloads
  WHERE admitted_at < ${before(payloadMs)} AND (admitted_at, record) > ('${afterPayload.join(`', '`)}')
  ORDER BY admitted_at, record LIMIT ${limit}
) p JOIN ${schema}.records r ON r.number = p.record;`)
    const [record, payload] = [records.at(-1), payloads.at(-1)]
    afterRecord = record !== undefined && records.length === limit ? text(record, 'number') : LEAST
    const hasMorePayloads = payload !== undefined && payloads.length === limit
    afterPayload = hasMorePayloads ? [text(payload, 'admitted_at'), text(payload, 'record')] : [LEAST, LEAST]
    return [...new Set([...records, ...letters, ...payloads].map((row) => text(row, 'key')))]
  }
}
