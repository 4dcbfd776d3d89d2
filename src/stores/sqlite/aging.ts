/** Finds records that may contain expired events, in bounded steps. `expire` decides what expires. */
import type { Retention } from '../../messages/expire.ts'
import type { Database } from './database.ts'
import { integer, text } from './statements.ts'

const DAY_MS = 86_400_000

export function createAging({ db }: Database, { payloadMs, deadLetterMs, dedupeMs }: Retention) {
  const prepare = (sql: string) => db.prepare(sql)
  const oldRecords = prepare(/* sql */ `
SELECT lower(hex(key)) AS key FROM records WHERE forget_day < ? ORDER BY forget_day LIMIT ?`)
  const oldDeadLetters = prepare(/* sql */ `
SELECT DISTINCT lower(hex(key)) AS key FROM dead_letters JOIN records ON number = message WHERE died_at < ? LIMIT ?`)
  /** Payloads are ordered by time. Those of waiting events are skipped. */
  const oldPayloads = prepare(/* sql */ `
SELECT seq, lower(hex(key)) AS key FROM payloads JOIN records ON number = message
WHERE seq > ? AND admitted_at < ? ORDER BY seq LIMIT ?`)
  /** Position of the walk through the payloads. It restarts after the last old payload. */
  let after = 0

  return (nowMs: number, limit: number): readonly string[] => {
    const now = Math.floor(nowMs)
    const payloads = oldPayloads.all(after, now - payloadMs, limit)
    const last = payloads.at(-1)
    after = last !== undefined && payloads.length === limit ? integer(last, 'seq') : 0
    const rows = [
      ...oldRecords.all(Math.floor((now - dedupeMs) / DAY_MS), limit),
      ...oldDeadLetters.all(now - deadLetterMs, limit),
      ...payloads,
    ]
    return [...new Set(rows.map((row) => text(row, 'key')))]
  }
}
