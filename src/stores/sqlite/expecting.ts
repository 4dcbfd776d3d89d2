/** What was sent, beside the messages: written, found overdue by an index, and decided about in one transaction. */
import { encodeExpectation, readExpectation } from '../../inbox/expected.ts'
import { EXPECTED, hasEnd } from '../../inbox/order.ts'
import type {
  Admission,
  EndedExpectation,
  NewExpectation,
  Overdue,
  Page,
  StoredExpectation,
} from '../../inbox/store.ts'
import { pageOf } from '../pages.ts'
import type { DamageControl } from './damage.ts'
import type { Database } from './database.ts'
import { decodeLatest, digestBytes, type EncodedEvent } from './encoding.ts'
import { expectedIn, SCHEDULE_MESSAGE } from './known.ts'
import { withExpected } from './reading.ts'
import { blob, cut, cutRowid, integer, prepare, text, type Row } from './statements.ts'

/** A message that may be known already; one that is expected stays as it is. Says which it is. */
const EXPECT = /* sql */ `
INSERT INTO messages (key, steps, handed, handed_open, token, lease_token, sent_at, overdue_at, expected)
VALUES (:key, ${EXPECTED}, '', '', 0, 0, :sentAt, :overdueAt, :expected)
ON CONFLICT (key) DO UPDATE SET steps = (steps & 255) | ${EXPECTED}, sent_at = excluded.sent_at,
  overdue_at = excluded.overdue_at, expected = excluded.expected
WHERE messages.expected IS NULL
RETURNING ${cutRowid('rowid')} AS message, lease_token <> 0 AS held
`

/** What waited for it is due; a retry keeps its time. */
const END_HOLD = /* sql */ `
UPDATE events SET due = min(due, :now) WHERE message = :message AND state = 0 AND awaits = ${EXPECTED} AND attempts = 0
`

const FIND_OVERDUE = /* sql */ `
SELECT rowid, lower(hex(key)) AS key, 0 AS was_overdue, expected FROM messages
WHERE overdue_at > 0 AND overdue_at <= :now ORDER BY overdue_at, rowid LIMIT :limit
`

const NEXT_OVERDUE = /* sql */ `
SELECT ${cut('min(overdue_at)')} AS next FROM messages WHERE overdue_at > :now
`

const FIND_PENDING = /* sql */ `
SELECT rowid, latest FROM messages WHERE key = :key AND overdue_at > 0
`

/** It had an end (null), or was said to be overdue (0). */
const DECIDE = /* sql */ `
UPDATE messages SET overdue_at = :overdueAt WHERE rowid = :message
`

/** What was decided stays: 0 says that it was overdue. */
const AWAIT_NO_MORE = /* sql */ `
UPDATE messages SET overdue_at = CASE WHEN overdue_at = 0 THEN 0 END, expected = :expected
WHERE key = :key AND expected IS NOT NULL
`

/** A message that was sent, as `readExpected` takes it. */
export const FOUND = `SELECT sent_at || '.' || rowid AS place, lower(hex(key)) AS key, overdue_at = 0 AS was_overdue, expected, latest
FROM messages`

const EXPECTATION = /* sql */ `
${FOUND} WHERE key = :key
`

/** A page of what was sent, by that time. The cursor is the last one's time and number. */
const EXPECTATIONS = /* sql */ `
${FOUND}
WHERE sent_at >= :from AND sent_at < :to AND (sent_at, rowid) > (:sentAt, :after) ORDER BY sent_at, rowid LIMIT :limit
`

const BEFORE_ALL = [-(2n ** 63n), 0n] as const
/** Of one whose expectation is gone. */
const NOTHING_LEFT = { json: new Uint8Array(), wasOverdue: false }
/** What a time may be at most, as a parameter. */
const LAST_TIME = Number.MAX_SAFE_INTEGER

export interface Expecting {
  expect(messages: readonly NewExpectation[], nowMs: number): readonly boolean[]
  overdue(page: { readonly nowMs: number; readonly limit: number }): Overdue
  admitOverdue(events: readonly EncodedEvent[], nowMs: number): readonly boolean[]
  awaitNoMore(ended: readonly EndedExpectation[], nowMs: number): void
  expectations(page: {
    readonly after: string | undefined
    readonly limit: number
    readonly fromMs: number
    readonly toMs: number
    readonly messageKey?: string | undefined
  }): Page<StoredExpectation>
}

export function createExpecting(
  { db, transaction }: Database,
  damage: DamageControl,
  admit: (events: readonly EncodedEvent[], nowMs: number) => readonly Admission[],
): Expecting {
  const expect = prepare(db, EXPECT)
  const endHold = prepare(db, END_HOLD)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)
  const findOverdue = prepare(db, FIND_OVERDUE)
  const nextOverdue = prepare(db, NEXT_OVERDUE)
  const findPending = prepare(db, FIND_PENDING)
  const decide = prepare(db, DECIDE)
  const endWait = prepare(db, AWAIT_NO_MORE)
  const expectations = prepare(db, EXPECTATIONS)
  const one = prepare(db, EXPECTATION)

  function expectOne({ messageKey, sentAtMs, overdueAtMs, expectation }: NewExpectation, nowMs: number): boolean {
    const written = expect.get({
      key: digestBytes(messageKey),
      sentAt: Math.floor(sentAtMs),
      overdueAt: overdueAtMs === undefined ? null : Math.max(1, Math.floor(overdueAtMs)),
      expected: encodeExpectation(expectation),
    })
    if (written === undefined) return false
    const message = integer(written, 'message')
    if (Number(endHold.run({ message, now: nowMs }).changes) > 0 && integer(written, 'held') === 0)
      scheduleMessage.run({ message })
    return true
  }

  function admitOne(event: EncodedEvent, nowMs: number): boolean {
    const row = findPending.get({ key: digestBytes(event.messageKey) })
    if (row === undefined) return false
    const message = integer(row, 'rowid')
    const bytes = blob(row, 'latest')
    const isEnded = hasEnd(bytes && (decodeLatest(bytes) ?? damage.latestOf(message)))
    decide.run({ message, overdueAt: isEnded ? null : 0 })
    return !isEnded && admit([event], nowMs)[0] !== 'duplicate'
  }

  return {
    expect: (messages, nowMs) => transaction(true, nowMs, () => messages.map((each) => expectOne(each, nowMs))),
    overdue: ({ nowMs, limit }) =>
      transaction(false, nowMs, () => {
        const rows = findOverdue.all({ now: nowMs, limit })
        const items = rows.flatMap((row) => {
          const sent = expectedIn(row) ?? NOTHING_LEFT
          const known = damage.expectedOf(integer(row, 'rowid'), sent)
          return known === undefined ? [] : [{ messageKey: text(row, 'key'), expectation: known.expectation }]
        })
        const next = nextOverdue.get({ now: nowMs })?.['next']
        const later = typeof next === 'number' ? next : undefined
        return { items, nextMs: rows.length === limit ? nowMs : later }
      }),
    admitOverdue: (events, nowMs) => transaction(true, nowMs, () => events.map((event) => admitOne(event, nowMs))),
    awaitNoMore: (ended, nowMs) =>
      transaction(true, nowMs, () => {
        for (const { messageKey, expectation } of ended)
          endWait.run({ key: digestBytes(messageKey), expected: encodeExpectation(expectation) })
      }),
    expectations({ after, limit, fromMs, toMs, messageKey }) {
      if (messageKey !== undefined) return { items: one.all({ key: digestBytes(messageKey) }).flatMap(readExpected) }
      const [, time, rowid] = /^(-?\d+)\.(-?\d+)$/.exec(after ?? '') ?? []
      const [sentAt, place] = time === undefined || rowid === undefined ? BEFORE_ALL : [BigInt(time), BigInt(rowid)]
      const range = { from: Math.floor(Math.max(-LAST_TIME, fromMs)), to: Math.floor(Math.min(LAST_TIME, toMs)) }
      const rows = expectations.all({ ...range, sentAt, after: place, limit: limit + 1 })
      const { items, ...rest } = pageOf(rows, limit, readExpected, (last) => text(last, 'place'))
      return { items: items.flat(), ...rest }
    },
  }
}

export function readExpected(row: Row): readonly StoredExpectation[] {
  const sent = expectedIn(row)
  const expectation = readExpectation(sent?.json)
  if (sent === undefined || expectation === undefined) return []
  const bytes = blob(row, 'latest')
  const latest = bytes && decodeLatest(bytes)
  const state = latest && { record: latest.record, finals: latest.finals.map(({ record }) => record) }
  return [
    {
      messageKey: text(row, 'key'),
      expectation,
      wasOverdue: sent.wasOverdue,
      latest: state && withExpected(state, sent),
    },
  ]
}
