/** Forgetting what is older than its retention, in steps so small that admission does not feel them. */
import type { DamageControl } from './damage.ts'
import type { Database } from './database.ts'
import { prepare } from './statements.ts'

export interface Retention {
  /** Payloads of settled events. */
  readonly retentionDays: number
  readonly deadLetterDays: number
  /** Identities: how long a duplicate is recognised. */
  readonly dedupeDays: number
}

const DAY_MS = 86_400_000
const ROWS_A_STEP = 500

/** Dead letters whose retention is over become settled ones; a bounded step. */
const FORGET_DEAD = /* sql */ `
UPDATE events SET state = 1
WHERE seq IN (SELECT seq FROM events WHERE state = 2 AND ended_at < :before LIMIT :limit)
`

/** Payloads of settled events whose retention is over; a bounded step. */
const FORGET_PAYLOADS = /* sql */ `
UPDATE events SET record = NULL, raw = NULL
WHERE seq IN (SELECT seq FROM events WHERE state = 1 AND raw IS NOT NULL AND ended_at < :before LIMIT :limit)
`

/** Identities that need not be recognised any more; a bounded step. */
const FORGET_EVENTS = /* sql */ `
DELETE FROM events
WHERE seq IN (SELECT seq FROM events WHERE state = 1 AND raw IS NULL AND ended_at < :before LIMIT :limit)
`

/** Messages of which no event is left, and nothing is expected or that is too old; a bounded step through the table, from :after on. */
const FORGET_MESSAGES = /* sql */ `
DELETE FROM messages
WHERE rowid IN (SELECT rowid FROM messages WHERE rowid > :after ORDER BY rowid LIMIT :limit)
  AND due IS NULL AND NOT EXISTS (SELECT 1 FROM events WHERE events.message = messages.rowid)
  AND (sent_at IS NULL OR (sent_at < :before AND coalesce(overdue_at, 0) <= 0))
`

/** One call is one step: at most so many rows of each kind. Returns how many were forgotten. */
export function createPruning(
  { db, transaction }: Database,
  retention: Retention,
  damage: DamageControl,
): (nowMs: number) => number {
  const forgetDead = prepare(db, FORGET_DEAD)
  const forgetPayloads = prepare(db, FORGET_PAYLOADS)
  const forgetEvents = prepare(db, FORGET_EVENTS)
  const forgetMessages = prepare(db, FORGET_MESSAGES)
  /** How far the walk through the messages has come; it begins anew behind the last one. */
  let after = 0
  const before = (nowMs: number, days: number) => ({ before: nowMs - days * DAY_MS, limit: ROWS_A_STEP })

  return (nowMs) =>
    transaction(false, nowMs, () => {
      const dead = forgetDead.run(before(nowMs, retention.deadLetterDays)).changes
      const payloads = forgetPayloads.run(before(nowMs, retention.retentionDays)).changes
      const events = forgetEvents.run(before(nowMs, Math.max(retention.dedupeDays, retention.retentionDays))).changes
      const messages = forgetMessages.run({ after, ...before(nowMs, retention.dedupeDays) }).changes
      damage.findAstray(nowMs)
      const last = db.prepare('SELECT max(rowid) AS last FROM messages').get()?.['last']
      after = typeof last === 'number' && after + ROWS_A_STEP < last ? after + ROWS_A_STEP : 0
      return Number(dead) + Number(payloads) + Number(events) + Number(messages)
    })
}
