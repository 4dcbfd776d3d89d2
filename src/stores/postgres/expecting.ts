/** What was sent, beside the messages: written, found overdue by an index, and decided about under the lock of each message. */
import { encodeExpectation, readExpectation, type KnownExpectation } from '../../inbox/expected.ts'
import { readRecord, type EventRecord } from '../../inbox/record.ts'
import type { NewEvent, OpenStore, StoredExpectation } from '../../inbox/store.ts'
import { pageOf } from '../pages.ts'
import { stateDamaged, type Report } from './damage.ts'
import { bytesOrNone, integer, integers, isNull, pack, placeBy, text, truth, type Row } from './encoding.ts'
import { placesByKey, type Engine } from './engine.ts'
import { fill } from './sql-text.ts'

/** See the function. :now, and arrays of one entry a message. One row. */
const EXPECT = /* sql */ 'SELECT answers FROM {schema}.expect_{set}(:now, :keys, :sents, :aheads, :texts);'

/** See the function. :now, and arrays of one entry an event. One row. */
const ADMIT_OVERDUE = /* sql */ `
SELECT answers FROM {schema}.overdue_{set}(:now, :keys, :ids, decode(:bytes, 'hex'), :starts, :recordEnds, :bodyEnds);
`

/** Those whose time is over at :now, the longest first, at most :limit; then how long from :now the next one has. */
const OVERDUE = /* sql */ `
SELECT encode(m.key, 'hex') AS key, encode(m.expected, 'hex') AS sent, false AS was_overdue FROM {schema}.messages m
WHERE m.overdue_at > 0 AND m.overdue_at <= :now ORDER BY m.overdue_at, m.id LIMIT :limit;
SELECT CASE WHEN count(*) > 0 THEN least(min(m.overdue_at) - :now, 316224000000) END AS ahead FROM {schema}.messages m WHERE m.overdue_at > :now AND m.overdue_at > 0;
`

/** Each of `page`, some messages, with its newest and at most 64 final reports: as `readExpected` takes it. */
export const OF_PAGE = /* sql */ `
SELECT p.sent_at, p.id, encode(p.key, 'hex') AS key, encode(p.expected, 'hex') AS sent,
  coalesce(p.overdue_at = 0, false) AS was_overdue,
  (
    SELECT encode(e.record, 'hex') FROM {schema}.events e
    WHERE e.message = p.id AND {schema}.is_order_{set}(e.ord) AND e.record IS NOT NULL ORDER BY e.ord DESC LIMIT 1
  ) AS newest,
  (
    SELECT string_agg(encode(f.record, 'hex'), ',' ORDER BY f.ord) FROM (
      SELECT e.ord, e.record FROM {schema}.events e
      WHERE e.message = p.id AND {schema}.is_order_{set}(e.ord) AND e.final AND e.record IS NOT NULL
      ORDER BY e.ord DESC LIMIT 64
    ) AS f
  ) AS finals
FROM page p ORDER BY p.sent_at, p.id
`

/** A page of what was sent ($1 to $2), from a place on ($3 and $4), $5 of them. */
const EXPECTATIONS = /* sql */ `
WITH page AS MATERIALIZED (
  SELECT m.* FROM {schema}.messages m
  WHERE m.sent_at >= $1::bigint AND m.sent_at < $2::bigint AND (m.sent_at, m.id) > ($3::bigint, $4::bigint)
  ORDER BY m.sent_at, m.id LIMIT $5::integer
) ${OF_PAGE}
`

/** The message $1 (hex) alone. */
const EXPECTATION = /* sql */ `
WITH page AS MATERIALIZED (SELECT m.* FROM {schema}.messages m WHERE m.key = decode($1::text, 'hex')) ${OF_PAGE}
`

/** What cannot be read of messages ($1, hex) is expected no more. */
const EXPECT_NOTHING = /* sql */ `
UPDATE {schema}.messages SET sent_at = NULL, overdue_at = NULL, expected = NULL WHERE key = decode($1::text, 'hex')
`

/** What was decided stays: 0 says that it was overdue. Arrays of one entry a message: keys, and what is kept of it (hex). */
const AWAIT_NO_MORE = /* sql */ `
UPDATE {schema}.messages m SET overdue_at = CASE WHEN m.overdue_at = 0 THEN 0 END, expected = decode(u.expected, 'hex')
FROM unnest($1::text[], $2::text[]) AS u (key, expected)
WHERE m.key = decode(u.key, 'hex') AND m.expected IS NOT NULL
`

/** What no sweep would find: no send is overdue in ten years. At most :limit. */
const OVERDUE_TOO_LATE = /* sql */ `
SELECT encode(m.key, 'hex') AS key, encode(m.expected, 'hex') AS sent, false AS was_overdue FROM {schema}.messages m
WHERE m.overdue_at > :now + 316224000000 ORDER BY m.overdue_at DESC, m.id DESC LIMIT :limit;
`

/** Of the message $1 (hex) it will be so late ($2). */
const SET_OVERDUE = /* sql */ `
UPDATE {schema}.messages SET overdue_at = $2::bigint WHERE key = decode($1::text, 'hex')
`

const BEFORE_ALL = '-9223372036854775808'
const CURSOR = /^(-?\d{1,19})\.(-?\d{1,19})$/
const MENDED_A_STEP = 100

/** What is expected of the message of a row; undefined where nothing is, or it cannot be read. */
export function expectedIn(row: Row, column: string): KnownExpectation | undefined {
  const expectation = readExpectation(bytesOrNone(row, column))
  return expectation && { expectation, wasOverdue: truth(row, 'was_overdue') }
}

interface OverdueAdmission {
  admitOverdue(events: readonly NewEvent[], nowMs: number): Promise<readonly boolean[]>
  /** Nothing is expected of this message any more. */
  dropUnreadable(messageKey: string): Promise<void>
}

export function createOverdueAdmission(engine: Engine, report: Report): OverdueAdmission {
  const admitOverdue = engine.sql(ADMIT_OVERDUE)
  const expectNothing = engine.sql(EXPECT_NOTHING)
  return {
    async admitOverdue(events, nowMs) {
      if (events.length === 0) return []
      const sorted = placesByKey(events)
      const given = sorted.flatMap((place) => events[place] ?? [])
      const [[row] = []] = await engine.together(
        fill(admitOverdue, {
          now: engine.now(nowMs),
          keys: given.map(({ messageKey }) => messageKey),
          ids: given.map(({ id }) => id),
          ...pack(given),
        }),
      )
      return inPlace(sorted, row === undefined ? [] : integers(row, 'answers'))
    },
    async dropUnreadable(messageKey) {
      // A claim of what was leased goes on; the next one meets it again.
      await engine.connections.query(expectNothing, [messageKey]).catch(() => [])
      report(stateDamaged('messages.expected', messageKey))
    },
  }
}

/** `tell`: what waited may be due. */
export function createExpecting(
  engine: Engine,
  report: Report,
  tell: () => void,
): Required<Pick<OpenStore, 'expect' | 'overdue' | 'awaitNoMore' | 'expectations'>> {
  const expect = engine.sql(EXPECT)
  const overdue = engine.sql(OVERDUE)
  const awaitNoMore = engine.sql(AWAIT_NO_MORE)
  const expectations = engine.sql(EXPECTATIONS)
  const one = engine.sql(EXPECTATION)
  const { dropUnreadable } = createOverdueAdmission(engine, report)
  return {
    async expect(messages, nowMs) {
      if (messages.length === 0) return []
      const sorted = placesByKey(messages)
      const given = sorted.flatMap((place) => messages[place] ?? [])
      const [[row] = []] = await engine.together(
        fill(expect, {
          now: engine.now(nowMs),
          keys: given.map(({ messageKey }) => messageKey),
          sents: given.map(({ sentAtMs }) => sentAtMs),
          aheads: given.map(({ overdueAtMs }) => (overdueAtMs === undefined ? -1 : Math.max(0, overdueAtMs - nowMs))),
          texts: given.map(({ expectation }) => encodeExpectation(expectation).toString('hex')),
        }),
      )
      tell()
      return inPlace(sorted, row === undefined ? [] : integers(row, 'answers'))
    },
    async overdue({ nowMs, limit }) {
      const [rows = [], [next] = []] = await engine.together(fill(overdue, { now: engine.now(nowMs), limit }))
      const items = []
      for (const row of rows) {
        const known = expectedIn(row, 'sent')
        if (known === undefined) await dropUnreadable(text(row, 'key'))
        else items.push({ messageKey: text(row, 'key'), expectation: known.expectation })
      }
      const later = next === undefined || isNull(next, 'ahead') ? undefined : nowMs + integer(next, 'ahead')
      return { items, nextMs: rows.length === limit ? nowMs : later }
    },
    async awaitNoMore(ended) {
      if (ended.length === 0) return
      const given = placesByKey(ended).flatMap((place) => ended[place] ?? [])
      await engine.connections.query(awaitNoMore, [
        given.map(({ messageKey }) => messageKey),
        given.map(({ expectation }) => encodeExpectation(expectation).toString('hex')),
      ])
    },
    async expectations({ after, limit, fromMs, toMs, messageKey }) {
      if (messageKey !== undefined) {
        const found = await engine.connections.query(one, [messageKey])
        return { items: found.flatMap(readExpected) }
      }
      const [, sentAt = BEFORE_ALL, id = BEFORE_ALL] = CURSOR.exec(after ?? '') ?? []
      const range = [Math.floor(fromMs), Math.floor(toMs)]
      const rows = await engine.connections.query(expectations, [...range, sentAt, id, limit + 1])
      const { items, ...rest } = pageOf(rows, limit, readExpected, placeBy('sent_at', 'id'))
      return { items: items.flat(), ...rest }
    },
  }
}

/** Puts right what is said to be overdue beyond any time; see "Damage" in the store contract. */
export function createOverdueMending(engine: Engine, report: Report): (nowMs: number) => Promise<void> {
  const overdueTooLate = engine.sql(OVERDUE_TOO_LATE)
  const setOverdue = engine.sql(SET_OVERDUE)
  const { dropUnreadable } = createOverdueAdmission(engine, report)
  return async (nowMs) => {
    const [rows = []] = await engine.together(fill(overdueTooLate, { now: engine.now(nowMs), limit: MENDED_A_STEP }))
    for (const row of rows) {
      const key = text(row, 'key')
      const known = expectedIn(row, 'sent')
      if (known === undefined) {
        await dropUnreadable(key)
        continue
      }
      await engine.connections.query(setOverdue, [key, known.expectation.overdueAtMs ?? null])
      report(stateDamaged('messages.overdue_at', key))
    }
  }
}

function inPlace(sorted: readonly number[], answers: readonly number[]): readonly boolean[] {
  const found = sorted.map(() => false)
  for (const [index, place] of sorted.entries()) found[place] = answers[index] === 1
  return found
}

export function readExpected(row: Row): readonly StoredExpectation[] {
  const known = expectedIn(row, 'sent')
  if (known === undefined) return []
  const newest = readRecord(bytesOrNone(row, 'newest'))
  const hexes = isNull(row, 'finals') ? [] : text(row, 'finals').split(',')
  const finals = hexes.flatMap((hex): readonly EventRecord[] => {
    const record = readRecord(Buffer.from(hex, 'hex'))
    return record === undefined ? [] : [record]
  })
  const record = newest ?? finals.at(-1)
  const latest = record && { record, finals, expected: known }
  return [{ ...known, messageKey: text(row, 'key'), latest }]
}
