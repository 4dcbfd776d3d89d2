/** Finds records that may contain expired events, in bounded steps. `expire` decides what expires. */
import type { Retention } from '../../messages/expire.ts'
import type { Database } from './database.ts'
import { cut, integer, text } from './statements.ts'

const DAY_MS = 86_400_000

export function createAging({ db }: Database, { payloadMs, deadLetterMs, dedupeMs }: Retention) {
  const prepare = (sql: string) => db.prepare(sql)
  const oldRecords = prepare(/* sql */ `
SELECT lower(hex(key)) AS key FROM records WHERE forget_day < ? ORDER BY forget_day LIMIT ?`)
  const oldDeadLetters = prepare(/* sql */ `
SELECT DISTINCT lower(hex(key)) AS key FROM dead_letters JOIN records ON number = message WHERE died_at < ? LIMIT ?`)
  const payloadsFrom = prepare(/* sql */ `
SELECT seq, ${cut('admitted_at')} AS admitted_at, lower(hex(key)) AS key FROM payloads JOIN records ON number = message
WHERE seq > ? ORDER BY seq LIMIT ?`)
  /** Position of the walk through the payloads, which skips those of waiting events. It restarts after the last old payload. */
  let after = 0

  /** Payloads are ordered by time, so the walk ends at the first page without an old one. */
  function oldPayloads(beforeMs: number, limit: number) {
    const page = payloadsFrom.all(after, limit)
    const old = page.filter((row) => integer(row, 'admitted_at') < beforeMs)
    const last = page.at(-1)
    after = last !== undefined && old.length > 0 && page.length === limit ? integer(last, 'seq') : 0
    return old
  }

  return (nowMs: number, limit: number): readonly string[] => {
    const now = Math.floor(nowMs)
    const rows = [
      ...oldRecords.all(Math.floor((now - dedupeMs) / DAY_MS), limit),
      ...oldDeadLetters.all(now - deadLetterMs, limit),
      ...oldPayloads(now - payloadMs, limit),
    ]
    return [...new Set(rows.map((row) => text(row, 'key')))]
  }
}
