/** What becomes of rows that somebody else has spoilt; see "Damage" in the store contract. */
import { MessagingWebhooksError } from '../../errors.ts'
import { readExpectation, type KnownExpectation } from '../../inbox/expected.ts'
import { mergeLatest, type MessageLatest } from '../../inbox/latest.ts'
import { readRecord } from '../../inbox/record.ts'
import type { Database } from './database.ts'
import type { ExpectedBytes } from './known.ts'
import { blob, integer, prepare, text, type Row } from './statements.ts'

/** Ten years: no retry, gap or lease is as long; what is said to be due later was not written by this store. */
export const LONGEST_WAIT_MS = 3_653 * 86_400_000
const MESSAGES_A_STEP = 500
/** The least number that a column can hold. */
const BEFORE_ALL = -(2n ** 63n)

/** A damaged event becomes a dead letter, with what is left of it. */
const SET_ASIDE = /* sql */ `
UPDATE events SET state = 2, error = :error, ended_at = :now WHERE seq = :seq
`

/** The greatest token of a lease under which an event of this message may still be settled. */
const GREATEST_TOKEN = /* sql */ `
SELECT coalesce(max(token), 0) AS token FROM events
WHERE message = :message AND state = 0 AND token BETWEEN 0 AND 4503599627370496
`

/**
 * The reports of a message whose latest state is damaged. No index has them once they are settled, so this walks through the
 * table: rather seconds, once, than an index more to write for every event.
 */
const REPORTS = /* sql */ `
SELECT ord, final, record FROM events WHERE message = :message AND ord <> '' AND record IS NOT NULL
`

/**
 * Events that wait, the first of each message, and that no claim would find: their message is gone, is not due, or is due at
 * another time than the event though nobody holds it; or the event's own time is absurd. A bounded step through what waits,
 * from :after on.
 */
const FIND_ASTRAY = /* sql */ `
SELECT first.seq, lower(hex(first.id)) AS id, m.rowid IS NULL AS orphaned
FROM (
  SELECT DISTINCT message FROM events WHERE state = 0 AND message > :after ORDER BY message LIMIT :limit
) AS e
JOIN events AS first ON first.seq = (
  SELECT seq FROM events WHERE message = e.message AND state = 0 ORDER BY ord LIMIT 1
)
LEFT JOIN messages AS m ON m.rowid = e.message
WHERE m.due IS NULL OR m.due > :latest OR (m.lease_token = 0 AND m.due <> first.due) OR first.due > :latest
`

/** How far a step of FIND_ASTRAY comes, as a text, and how many messages it looks at. */
const LAST_WAITING = /* sql */ `
SELECT '' || max(message) AS last, count(*) AS messages FROM (
  SELECT DISTINCT message FROM events WHERE state = 0 AND message > :after ORDER BY message LIMIT :limit
)
`

/** An event whose time was absurd is due now. */
const BE_DUE = /* sql */ `
UPDATE events SET due = :now WHERE seq = :seq AND due > :latest
`

/** A new message for an event whose own is gone. Nothing tells its key; the event's identity is nobody else's. */
const RESTORE_MESSAGE = /* sql */ `
INSERT INTO messages (key, steps, handed, handed_open, token, lease_token, due)
SELECT id, 0, '', '', max(0, min(token, 4503599627370496)), 0, NULL FROM events WHERE seq = :seq
ON CONFLICT (key) DO NOTHING
`

/** What waits with this event belongs to the message that has its identity for a key. */
const JOIN_MESSAGE = /* sql */ `
UPDATE events SET message = (SELECT m.rowid FROM messages AS m, events AS e WHERE e.seq = :seq AND m.key = e.id)
WHERE state = 0 AND message = (SELECT message FROM events WHERE seq = :seq)
`

/** The message of a waiting event is due when its first waiting event is, and held by nobody. */
const SCHEDULE_FIRST = /* sql */ `
UPDATE messages SET lease_token = 0, due = (
  SELECT due FROM events WHERE message = messages.rowid AND state = 0 ORDER BY ord LIMIT 1
) WHERE rowid = (SELECT message FROM events WHERE seq = :seq)
`

/** What was expected of a message cannot be read, or was forgotten. */
export const EXPECT_NOTHING = /* sql */ `
UPDATE messages SET sent_at = NULL, overdue_at = NULL, expected = NULL WHERE rowid = :message
`

const KEY_OF = /* sql */ `
SELECT lower(hex(key)) AS key FROM messages WHERE rowid = :message
`

/** Messages that no sweep would find to be overdue; a bounded step. */
const OVERDUE_TOO_LATE = /* sql */ `
SELECT rowid, lower(hex(key)) AS key, expected, 0 AS was_overdue FROM messages WHERE overdue_at > :latest LIMIT :limit
`

const SET_OVERDUE = /* sql */ `
UPDATE messages SET overdue_at = :overdueAt WHERE rowid = :message
`

export interface DamageControl {
  /** Makes a dead letter of an event that waits. `row` has its `seq` and `id`, `place` the column. */
  setAside(row: Row, place: string, nowMs: number): void
  /** A token that is greater than each that could still settle something of this message. */
  tokenAfter(message: number): number
  /** The latest state of a message as its events tell it. */
  latestOf(message: number): MessageLatest | undefined
  /** What is expected of a message; where that cannot be read, nothing is expected any more. */
  expectedOf(message: number, sent: ExpectedBytes): KnownExpectation | undefined
  /** A state was made anew. */
  restored(place: string, key: string): void
  /** Finds, a bounded step at a time, events that no claim would. Says how many. */
  findAstray(nowMs: number): number
}

export function createDamageControl({ db }: Database, report: (error: MessagingWebhooksError) => void): DamageControl {
  const setAside = prepare(db, SET_ASIDE)
  const greatestToken = prepare(db, GREATEST_TOKEN)
  const reports = prepare(db, REPORTS)
  const findAstray = prepare(db, FIND_ASTRAY)
  const lastWaiting = prepare(db, LAST_WAITING)
  const restoreMessage = prepare(db, RESTORE_MESSAGE)
  const beDue = prepare(db, BE_DUE)
  const joinMessage = prepare(db, JOIN_MESSAGE)
  const scheduleFirst = prepare(db, SCHEDULE_FIRST)
  const expectNothing = prepare(db, EXPECT_NOTHING)
  const keyOf = prepare(db, KEY_OF)
  const overdueTooLate = prepare(db, OVERDUE_TOO_LATE)
  const setOverdue = prepare(db, SET_OVERDUE)
  /** How far the walk through what waits has come; it begins anew behind the last one. */
  let after = BEFORE_ALL

  function restored(place: string, key: string): void {
    report(new MessagingWebhooksError('state_damaged', `It is ${place} of ${key}.`))
  }

  return {
    restored,
    setAside(row, place, nowMs) {
      const error = new MessagingWebhooksError('event_damaged', `It is ${place} of event ${text(row, 'id')}.`)
      setAside.run({ seq: integer(row, 'seq'), error: error.message, now: nowMs })
      report(error)
    },
    tokenAfter: (message) => {
      const row = greatestToken.get({ message })
      return (row === undefined ? 0 : integer(row, 'token')) + 1
    },
    latestOf(message) {
      let latest: MessageLatest | undefined
      for (const row of reports.all({ message })) {
        const record = readRecord(blob(row, 'record'))
        if (record !== undefined)
          latest = mergeLatest(latest, { order: text(row, 'ord'), final: integer(row, 'final') === 1, record })
      }
      return latest
    },
    expectedOf(message, { json, wasOverdue }) {
      const expectation = readExpectation(json)
      if (expectation !== undefined) return { expectation, wasOverdue }
      expectNothing.run({ message })
      const row = keyOf.get({ message })
      restored('messages.expected', `message ${row === undefined ? '' : text(row, 'key')}`)
      return undefined
    },
    findAstray(nowMs) {
      const step = { after, limit: MESSAGES_A_STEP }
      const latest = nowMs + LONGEST_WAIT_MS
      for (const row of overdueTooLate.all({ latest, limit: MESSAGES_A_STEP })) {
        const message = integer(row, 'rowid')
        const expectation = readExpectation(blob(row, 'expected'))
        if (expectation === undefined) expectNothing.run({ message })
        else setOverdue.run({ message, overdueAt: expectation.overdueAtMs ?? null })
        restored('messages.overdue_at', `message ${text(row, 'key')}`)
      }
      const found = findAstray.all({ ...step, latest })
      for (const row of found) {
        const seq = integer(row, 'seq')
        beDue.run({ seq, now: nowMs, latest })
        if (integer(row, 'orphaned') === 1) {
          restoreMessage.run({ seq })
          joinMessage.run({ seq })
        }
        scheduleFirst.run({ seq })
        restored('messages.due', `event ${text(row, 'id')}`)
      }
      const last = lastWaiting.get(step)
      const isEnd = last === undefined || integer(last, 'messages') < MESSAGES_A_STEP
      after = isEnd ? BEFORE_ALL : BigInt(text(last, 'last'))
      return found.length
    },
  }
}
