/**
 * Forgetting on demand: what may name a person goes, the identities and what orders a message stay. What an updated row was
 * is in the table's file until a vacuum, and in the write-ahead log: the server decides how long.
 */
import { readRecord } from '../../inbox/record.ts'
import type { ForgetRequest, ForgottenCounts, KeptEvent, OpenStore } from '../../inbox/store.ts'
import { pageOf } from '../pages.ts'
import { bytesOrNone, integer, placeBy, text, within, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { fill } from './sql-text.ts'

/**
 * Events by message and identity, from those of a place on ($1, and $2 in hex), $3 of them. Of one whose message is gone the
 * identity stands for that.
 */
const KEPT = /* sql */ `
WITH page AS MATERIALIZED (
  SELECT e.message, e.id, e.since, e.record, e.raw FROM {schema}.events e
  WHERE (e.message, e.id) > ($1::bigint, decode($2::text, 'hex')) ORDER BY e.message, e.id LIMIT $3::integer
)
SELECT page.message, encode(page.id, 'hex') AS id, page.since, encode(record, 'hex') AS record, encode(raw, 'hex') AS raw,
  encode(coalesce((SELECT m.key FROM {schema}.messages m WHERE m.id = page.message), page.id), 'hex') AS key
FROM page ORDER BY page.message, page.id
`

/** What was sent, by that time, from a place on ($1 and $2), $3 of them. */
const KEPT_EXPECTED = /* sql */ `
SELECT m.sent_at, m.id, encode(m.key, 'hex') AS key, encode(m.expected, 'hex') AS expected FROM {schema}.messages m
WHERE m.sent_at IS NOT NULL AND (m.sent_at, m.id) > ($1::bigint, $2::bigint) ORDER BY m.sent_at, m.id LIMIT $3::integer
`

/** A few messages are looked for in large tables, by their keys, whatever a plan thinks of how many they are. */
const BY_INDEX = /* sql */ `
SET LOCAL enable_seqscan = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_hashjoin = off; SET LOCAL jit = off;
`
const SETTINGS = 4

/** Locks the messages (:keys, hex) in the order in which every batch does; what others did is seen by what follows. */
const LOCK = /* sql */ `
SELECT count(*) AS locked FROM (
  SELECT id FROM {schema}.messages WHERE key = ANY (ARRAY(SELECT decode(hex, 'hex') FROM unnest(:keys::text[]) AS hex))
  ORDER BY key FOR UPDATE
) AS found;
`

/** What is meant: one entry a target in :keys and :ids (hex), an empty id for every event of the message. */
const TARGETS = /* sql */ `
WITH wanted AS MATERIALIZED (
  SELECT DISTINCT m.id AS message, decode(u.id, 'hex') AS id, u.id = '' AS is_whole
  FROM unnest(:keys::text[], :ids::text[]) AS u (key, id) JOIN {schema}.messages m ON m.key = decode(u.key, 'hex')
), expecteds AS MATERIALIZED (
  SELECT DISTINCT m.id AS message FROM unnest(:keys::text[], :ids::text[]) AS u (key, id)
    JOIN {schema}.messages m ON m.key = decode(u.key, 'hex')
  WHERE (u.id = '' OR u.id = u.key) AND m.expected IS NOT NULL
), targets AS MATERIALIZED (
  SELECT DISTINCT e.message, e.id, e.record IS NOT NULL OR e.raw IS NOT NULL AS is_kept,
    e.ord <> '' AND e.record IS NOT NULL AS is_report
  FROM wanted JOIN {schema}.events e ON e.message = wanted.message AND (wanted.is_whole OR e.id = wanted.id)
)`

const EVENTS_AND_STATES = /* sql */ `
(SELECT count(*) FROM targets WHERE is_kept) AS events, (
  SELECT count(*) FROM (SELECT message FROM targets WHERE is_report UNION SELECT message FROM expecteds) AS known
) AS states
`

/** How much of it there is. */
const COUNT = /* sql */ `
${TARGETS} SELECT ${EVENTS_AND_STATES},
  (SELECT count(*) FROM targets t WHERE EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = t.message AND w.id = t.id)) AS unsettled,
  (SELECT count(*) FROM targets t WHERE EXISTS (SELECT FROM {schema}.dead_letters d WHERE d.id = t.id AND d.message = t.message)) AS dead;
`

/** Ends and empties it. The retention of an identity counts from then (:now), where it was not settled before. */
const FORGET = /* sql */ `
${TARGETS}, unexpected AS (
  UPDATE {schema}.messages m SET sent_at = NULL, overdue_at = NULL, expected = NULL FROM expecteds WHERE m.id = expecteds.message
), ended AS (
  DELETE FROM {schema}.waiting w USING targets t WHERE w.message = t.message AND w.id = t.id RETURNING w.message, w.id
), buried AS (
  DELETE FROM {schema}.dead_letters d USING targets t WHERE d.id = t.id AND d.message = t.message RETURNING d.message, d.id
), emptied AS (
  UPDATE {schema}.events e SET record = NULL, raw = NULL, since = CASE
    WHEN EXISTS (SELECT FROM ended WHERE ended.message = e.message AND ended.id = e.id)
      OR EXISTS (SELECT FROM buried WHERE buried.message = e.message AND buried.id = e.id) THEN :now ELSE e.since END
  FROM targets t WHERE t.is_kept AND e.message = t.message AND e.id = t.id
) SELECT ${EVENTS_AND_STATES}, (SELECT count(*) FROM ended) AS unsettled, (SELECT count(*) FROM buried) AS dead;
`

/** The first event that is left of each of these messages (:keys) has its turn, unless somebody holds another. */
const GIVE_TURN = /* sql */ `
WITH heads AS MATERIALIZED (
  SELECT m.steps, head.* FROM {schema}.messages m CROSS JOIN LATERAL (
    SELECT w.message, w.ord, w.id FROM {schema}.waiting w WHERE w.message = m.id ORDER BY w.ord, w.id LIMIT 1
  ) AS head
  WHERE m.key = ANY (ARRAY(SELECT decode(hex, 'hex') FROM unnest(:keys::text[]) AS hex))
    AND NOT EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = m.id AND w.leased AND num_nonnulls(w.turn) = 1)
)
UPDATE {schema}.waiting w SET leased = false, turn = CASE WHEN (w.ord, w.id) = (heads.ord, heads.id) THEN
  CASE WHEN w.attempts = 0 AND heads.steps & w.awaits <> 0 THEN least(w.due, :now) ELSE w.due END
END
FROM heads WHERE w.message = heads.message AND (num_nonnulls(w.turn) = 1 OR (w.ord, w.id) = (heads.ord, heads.id));
`

const LAST_TIME = Number.MAX_SAFE_INTEGER
const CURSOR = /^(-?\d{1,19})\.([0-9a-f]*)$/
/** The walk through the events comes first, then that through what was sent. */
const OF_SENDS = 'm'
/** Before all, whatever their numbers are. */
const BEFORE_ALL = '-9223372036854775808'

export function createForgetting(engine: Engine, forgotten: () => void): Required<Pick<OpenStore, 'kept' | 'forget'>> {
  const kept = engine.sql(KEPT)
  const keptExpected = engine.sql(KEPT_EXPECTED)
  const count = engine.sql(BY_INDEX + COUNT)
  const forget = engine.sql(BY_INDEX + LOCK + FORGET + GIVE_TURN)

  return {
    async kept({ after, limit }) {
      if (after?.startsWith(OF_SENDS) === true) {
        const [sentAt = BEFORE_ALL, id = BEFORE_ALL] = after.slice(OF_SENDS.length).split('.')
        const rows = await engine.connections.query(keptExpected, [sentAt, id, limit + 1])
        return pageOf(rows, limit, readExpected, (last) => OF_SENDS + placeBy('sent_at', 'id')(last))
      }
      const [, message = BEFORE_ALL, id = ''] = CURSOR.exec(after ?? '') ?? []
      const rows = await engine.connections.query(kept, [message, id, limit + 1])
      const { items, ...rest } = pageOf(rows, limit, readKept, placeBy('message', 'id'))
      const next = rest.next ?? `${OF_SENDS}${BEFORE_ALL}.${BEFORE_ALL}`
      return { items: items.filter(({ record, raw }) => record !== undefined || raw !== undefined), next }
    },
    async forget({ targets, dryRun }: ForgetRequest, nowMs) {
      const meant = targets.flatMap(({ messageKey, ids = [''] }) => ids.map((id) => ({ messageKey, id })))
      const values = {
        now: engine.now(nowMs),
        keys: meant.map(({ messageKey }) => messageKey),
        ids: meant.map(({ id }) => id),
      }
      const rows = await engine.together(fill(dryRun ? count : forget, values))
      const counts = countsIn(rows[SETTINGS + (dryRun ? 0 : 1)]?.[0])
      if (!dryRun && counts.unsettled > 0) forgotten()
      return counts
    },
  }
}

function countsIn(row: Row | undefined): ForgottenCounts {
  if (row === undefined) throw new Error('The database did not say what it forgot.')
  return {
    events: integer(row, 'events'),
    unsettled: integer(row, 'unsettled'),
    deadLetters: integer(row, 'dead'),
    states: integer(row, 'states'),
  }
}

function readExpected(row: Row): KeptEvent {
  const messageKey = text(row, 'key')
  const raw = bytesOrNone(row, 'expected')
  return { messageKey, id: messageKey, atMs: within(row, 'sent_at', LAST_TIME, 0), record: undefined, raw }
}

function readKept(row: Row): KeptEvent {
  return {
    messageKey: text(row, 'key'),
    id: text(row, 'id'),
    atMs: within(row, 'since', LAST_TIME, 0),
    record: readRecord(bytesOrNone(row, 'record')),
    raw: bytesOrNone(row, 'raw'),
  }
}
