/** Forgetting what is older than its retention, in steps so small that admission does not feel them. */
import type { DamageControl } from './damage.ts'
import type { Database } from './database.ts'
import { prepare } from './prepare.ts'
import { FORGET_DEAD } from './statements/forget-dead.ts'
import { FORGET_EVENTS } from './statements/forget-events.ts'
import { FORGET_MESSAGES } from './statements/forget-messages.ts'
import { FORGET_PAYLOADS } from './statements/forget-payloads.ts'

export interface Retention {
  /** Payloads of settled events. */
  readonly retentionDays: number
  readonly deadLetterDays: number
  /** Identities: how long a duplicate is recognised. */
  readonly dedupeDays: number
}

const DAY_MS = 86_400_000
const ROWS_A_STEP = 500

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
      const messages = forgetMessages.run({ after, limit: ROWS_A_STEP }).changes
      damage.findAstray(nowMs)
      const last = db.prepare('SELECT max(rowid) AS last FROM messages').get()?.['last']
      after = typeof last === 'number' && after + ROWS_A_STEP < last ? after + ROWS_A_STEP : 0
      return Number(dead) + Number(payloads) + Number(events) + Number(messages)
    })
}
