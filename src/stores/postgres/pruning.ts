/** Forgetting what is older than its retention, in steps so small that admission does not feel them. */
import { stateDamaged, type Report } from './damage.ts'
import { integer, isNull, text, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { createOverdueMending } from './expecting.ts'
import { fill, type Piece } from './sql-text.ts'
import { createUpkeep } from './upkeep.ts'

/** Dead letters whose retention (:before) is over become settled ones; at most :limit. Returns how many. */
const FORGET_DEAD = /* sql */ `
WITH old AS (
  DELETE FROM {schema}.dead_letters
  WHERE seq IN (
    SELECT seq FROM {schema}.dead_letters WHERE ended_at < :before
    ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
  ) RETURNING message, id, ended_at
), settled AS (
  UPDATE {schema}.events e SET since = old.ended_at FROM old WHERE e.message = old.message AND e.id = old.id
) SELECT count(*) AS forgotten FROM old;
`

/**
 * Payloads of settled events whose retention (:before) is over, at most :limit: the bytes go, and the record too where the
 * message's latest state does not need it. What is not settled yet is looked at again a whole retention after :now.
 * Returns how many were forgotten.
 */
const FORGET_PAYLOADS = /* sql */ `
WITH old AS MATERIALIZED (
  SELECT message, id, ord, final FROM {schema}.events WHERE raw IS NOT NULL AND since < :before
  ORDER BY since LIMIT :limit FOR UPDATE SKIP LOCKED
), judged AS MATERIALIZED (
  SELECT message, id,
    EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = old.message AND w.id = old.id)
      OR EXISTS (SELECT FROM {schema}.dead_letters d WHERE d.message = old.message AND d.id = old.id) AS unsettled,
    ord <> '' AND (final OR NOT EXISTS (
      SELECT FROM {schema}.events later WHERE later.message = old.message AND later.ord > old.ord
    )) AS needed
  FROM old
), emptied AS (
  UPDATE {schema}.events e SET raw = NULL, record = CASE WHEN judged.needed THEN e.record END
  FROM judged WHERE e.message = judged.message AND e.id = judged.id AND NOT judged.unsettled
), spared AS (
  UPDATE {schema}.events e SET since = :now
  FROM judged WHERE e.message = judged.message AND e.id = judged.id AND judged.unsettled
) SELECT count(*) FILTER (WHERE NOT unsettled) AS forgotten FROM judged;
`

/**
 * Locks messages of events that need not be recognised any more (:before), of at most :limit such events, and passes over
 * those that somebody works with. Their numbers are left for the next statement in a setting of the transaction: that one
 * must begin after the locking, or it would not see what was admitted just before.
 */
const LOCK_FORGETTABLE = /* sql */ `
SELECT count(*) AS locked, set_config('messaging_webhooks.locked', coalesce(string_agg(id::text, ','), ''), true)
FROM (
  SELECT id FROM {schema}.messages
  WHERE id IN (
    SELECT message FROM {schema}.events WHERE raw IS NULL AND since < :before ORDER BY since LIMIT :limit
  ) FOR UPDATE SKIP LOCKED
) AS found;
`

/**
 * The events that need not be recognised any more (:before), at most :limit: those of the locked messages, and those whose
 * message is gone. Returns how many.
 */
const FORGET_EVENTS = /* sql */ `
WITH old AS MATERIALIZED (
  SELECT message, id FROM {schema}.events
  WHERE message = ANY (string_to_array(current_setting('messaging_webhooks.locked'), ',')::bigint[])
    AND raw IS NULL AND since < :before
  LIMIT :limit
), lost AS MATERIALIZED (
  SELECT message, id FROM (
    SELECT message, id FROM {schema}.events WHERE raw IS NULL AND since < :before ORDER BY since LIMIT :limit
  ) AS oldest WHERE NOT EXISTS (SELECT FROM {schema}.messages m WHERE m.id = oldest.message)
), gone AS (
  DELETE FROM {schema}.events e USING (SELECT * FROM old UNION SELECT * FROM lost) AS each
  WHERE e.message = each.message AND e.id = each.id RETURNING 1
) SELECT count(*) AS forgotten FROM gone;
`

/** Of the locked messages: those of which no event is left. */
const FORGET_MESSAGES = /* sql */ `
DELETE FROM {schema}.messages m
WHERE id = ANY (string_to_array(current_setting('messaging_webhooks.locked'), ',')::bigint[])
  AND NOT EXISTS (SELECT FROM {schema}.events e WHERE e.message = m.id)
  AND NOT EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = m.id)
  AND (m.sent_at IS NULL OR (m.sent_at < :before AND coalesce(m.overdue_at, 0) <= 0));
`

/** The same of messages that were expected before (:before) and are decided about, of which there need be no event. */
const LOCK_OLD_EXPECTED = /* sql */ `
SELECT count(*) AS locked, set_config('messaging_webhooks.locked', coalesce(string_agg(id::text, ','), ''), true)
FROM (
  SELECT id FROM {schema}.messages m
  WHERE m.sent_at < :before AND coalesce(m.overdue_at, 0) <= 0
    AND NOT EXISTS (SELECT FROM {schema}.events e WHERE e.message = m.id)
  ORDER BY m.sent_at, m.id LIMIT :limit FOR UPDATE SKIP LOCKED
) AS found;
`

/** Finds what no verb would meet: see the function. :now, :afterMessage, :afterSeq, :limit. Returns a row for each, and one more. */
const FIND_ASTRAY = /* sql */ 'SELECT * FROM {schema}.find_astray_{set}(:now, :afterMessage, :afterSeq, :limit);'

/** What says that it was settled in more than a day from :now would be kept for ever; at most :limit. Returns how many. */
const MEND_SINCE = /* sql */ `
WITH ahead AS (
  UPDATE {schema}.events SET since = :now WHERE ctid = ANY (ARRAY(
    (SELECT ctid FROM {schema}.events WHERE raw IS NOT NULL AND since > :now + 86400000 ORDER BY since DESC LIMIT :limit)
    UNION ALL
    (SELECT ctid FROM {schema}.events WHERE raw IS NULL AND since > :now + 86400000 ORDER BY since DESC LIMIT :limit)
  )) RETURNING 1
) SELECT count(*) AS mended FROM ahead;
`

const MEND_SINCE_IN_PARTITIONS = /* sql */ 'SELECT {schema}.mend_ahead_{set}(:now, :limit) AS mended;'

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

/** In partitions it keeps that for as long as one takes, or it would be moved to another. */
export function slackMsOf({ retentionDays, dedupeDays }: Retention, partitionDays?: number): number {
  if (partitionDays !== undefined) return partitionDays * DAY_MS
  return Math.floor(Math.min(MOST_SLACK_MS, Math.min(retentionDays, dedupeDays) * DAY_MS * SLACK_SHARE))
}

/** One call is one step: at most so many rows of each kind. Returns how many were forgotten. */
export function createPruning(
  engine: Engine,
  retention: Retention,
  report: Report,
): (nowMs: number) => Promise<number> {
  const forgetDead = engine.sql(FORGET_DEAD)
  const forgetPayloads = engine.sql(FORGET_PAYLOADS)
  const forgetEvents = engine.sql(LOCK_FORGETTABLE + FORGET_EVENTS + FORGET_MESSAGES)

  const forgetExpected = engine.sql(LOCK_OLD_EXPECTED + FORGET_MESSAGES)
  const mendOverdue = createOverdueMending(engine, report)
  const findAstray = engine.sql(FIND_ASTRAY)
  const mendSince = engine.sql(MEND_SINCE)
  const mendSinceInPartitions = engine.sql(MEND_SINCE_IN_PARTITIONS)
  const upkeep = createUpkeep(engine)
  /** How far the walk has come. */
  let afterMessage: Piece = FROM_THE_START
  let afterSeq: Piece = FROM_THE_START

  /** What no verb would meet any more. One report a step: a tool that spoils one row may spoil a million. */
  async function mend(nowMs: number, partitionDays: number | undefined): Promise<number> {
    const now = engine.now(nowMs)
    const values = { now, afterMessage, afterSeq, limit: LOOKED_AT_A_STEP }
    const [rows = []] = await engine.together(fill(findAstray, values))
    const found = rows.filter((row) => !isNull(row, 'place'))
    const last = rows.find((row) => isNull(row, 'place'))
    afterMessage = placeOf(last, 'next_message')
    afterSeq = placeOf(last, 'next_seq')
    const [[since] = []] = await engine.together(
      fill(partitionDays === undefined ? mendSince : mendSinceInPartitions, { now, limit: ROWS_A_STEP }),
    )
    const ahead = since === undefined ? 0 : integer(since, 'mended')
    const [first] = found
    if (first !== undefined) report(stateDamaged(text(first, 'place'), text(first, 'key'), found.length - 1 + ahead))
    else if (ahead > 0) report(stateDamaged('events.since', undefined, ahead - 1))
    return found.length + ahead
  }

  return async (nowMs) => {
    const partitionDays = await upkeep.days()
    const slackMs = slackMsOf(retention, partitionDays)
    const mended = await mend(nowMs, partitionDays)
    const now = engine.now(nowMs)
    const values = (days: number, slackMs = 0) => ({
      now,
      before: { sql: `${now.sql} - ${Math.ceil(days * DAY_MS) + slackMs}` },
      limit: ROWS_A_STEP,
    })
    // Each in a transaction of its own, so that nothing stays locked for longer than it must.
    const [dead = []] = await engine.together(fill(forgetDead, values(retention.deadLetterDays)))
    const dedupeDays = Math.max(retention.dedupeDays, retention.retentionDays)
    await mendOverdue(nowMs)
    await engine.together(fill(forgetExpected, values(dedupeDays)))
    if (partitionDays !== undefined) {
      const payloads = values(retention.retentionDays, slackMs).before
      const identities = values(dedupeDays, slackMs).before
      const touched = await upkeep.step(nowMs, { payloads, identities, limit: ROWS_A_STEP })
      return mended + forgotten(dead) + touched
    }
    const [payloads = []] = await engine.together(fill(forgetPayloads, values(retention.retentionDays, slackMs)))
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
