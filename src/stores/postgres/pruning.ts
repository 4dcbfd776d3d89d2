/** Forgetting what is older than its retention, in steps so small that admission does not feel them. */
import { stateDamaged, type Report } from './damage.ts'
import type { Engine } from './engine.ts'
import { integer, isNull, text, type Row } from './row.ts'
import { fill, type Piece } from './sql-text.ts'
import { FIND_ASTRAY } from './statements/find-astray.ts'
import { FORGET_DEAD } from './statements/forget-dead.ts'
import { FORGET_EVENTS } from './statements/forget-events.ts'
import { FORGET_MESSAGES } from './statements/forget-messages.ts'
import { FORGET_PAYLOADS } from './statements/forget-payloads.ts'
import { LOCK_FORGETTABLE } from './statements/lock-forgettable.ts'
import { MEND_SINCE } from './statements/mend-since.ts'

export interface Retention {
  /** Payloads of settled events. */
  readonly retentionDays: number
  readonly deadLetterDays: number
  /** Identities: how long a duplicate is recognised. */
  readonly dedupeDays: number
}

const DAY_MS = 86_400_000
/** A step takes some tens of milliseconds; with one a second, as often as it finds something, it keeps pace with as many a second. */
const ROWS_A_STEP = 2_000
/** Rows that are only looked at, for damage. */
const LOOKED_AT_A_STEP = 5_000
const FROM_THE_START = { sql: '(-9223372036854775808)' }

/**
 * What is settled so soon after its admission keeps that as the time from which its retention counts, so that settling
 * writes no second row of it; and everything is kept for so much longer.
 */
const MOST_SLACK_MS = 60_000
const SLACK_SHARE = 0.001

export function slackMsOf({ retentionDays, dedupeDays }: Retention): number {
  return Math.floor(Math.min(MOST_SLACK_MS, Math.min(retentionDays, dedupeDays) * DAY_MS * SLACK_SHARE))
}

/** One call is one step: at most so many rows of each kind. Returns how many were forgotten. */
export function createPruning(
  engine: Engine,
  retention: Retention,
  report: Report,
): (nowMs: number) => Promise<number> {
  const slackMs = slackMsOf(retention)
  const forgetDead = engine.sql(FORGET_DEAD)
  const forgetPayloads = engine.sql(FORGET_PAYLOADS)
  const forgetEvents = engine.sql(LOCK_FORGETTABLE + FORGET_EVENTS + FORGET_MESSAGES)

  const findAstray = engine.sql(FIND_ASTRAY)
  const mendSince = engine.sql(MEND_SINCE)
  /** How far the walk has come. */
  let afterMessage: Piece = FROM_THE_START
  let afterSeq: Piece = FROM_THE_START

  /** What no verb would meet any more. One report a step: a tool that spoils one row may spoil a million. */
  async function mend(nowMs: number): Promise<number> {
    const now = engine.now(nowMs)
    const values = { now, afterMessage, afterSeq, limit: LOOKED_AT_A_STEP }
    const [rows = []] = await engine.together(fill(findAstray, values))
    const found = rows.filter((row) => !isNull(row, 'place'))
    const last = rows.find((row) => isNull(row, 'place'))
    afterMessage = placeOf(last, 'next_message')
    afterSeq = placeOf(last, 'next_seq')
    const [[since] = []] = await engine.together(fill(mendSince, { now, limit: ROWS_A_STEP }))
    const ahead = since === undefined ? 0 : integer(since, 'mended')
    const [first] = found
    if (first !== undefined) report(stateDamaged(text(first, 'place'), text(first, 'key'), found.length - 1 + ahead))
    else if (ahead > 0) report(stateDamaged('events.since', undefined, ahead - 1))
    return found.length + ahead
  }

  return async (nowMs) => {
    const mended = await mend(nowMs)
    const now = engine.now(nowMs)
    const values = (days: number, slackMs = 0) => ({
      now,
      before: { sql: `${now.sql} - ${Math.ceil(days * DAY_MS) + slackMs}` },
      limit: ROWS_A_STEP,
    })
    // Each in a transaction of its own, so that nothing stays locked for longer than it must.
    const [dead = []] = await engine.together(fill(forgetDead, values(retention.deadLetterDays)))
    const [payloads = []] = await engine.together(fill(forgetPayloads, values(retention.retentionDays, slackMs)))
    const dedupeDays = Math.max(retention.dedupeDays, retention.retentionDays)
    const [, events = []] = await engine.together(fill(forgetEvents, values(dedupeDays, slackMs)))
    return [dead, payloads, events].reduce((sum, rows) => sum + forgotten(rows), mended)
  }
}

/** A number as the server wrote it, for it may be beyond what is exact here. */
function placeOf(row: Row | undefined, column: string): Piece {
  return row === undefined || isNull(row, column) ? FROM_THE_START : { sql: `(${text(row, column)})` }
}

function forgotten([row]: readonly Row[]): number {
  return row === undefined ? 0 : integer(row, 'forgotten')
}
