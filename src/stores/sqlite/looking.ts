/**
 * The list of events through a filter: a walk back through the table in short pieces and for a bounded time, for the thread that
 * walks is the one that takes callbacks.
 */
import { monotonicMs } from '../../clock.ts'
import type { EventsAnswer, EventState, EventsPage, StoredEvent } from '../../inbox/store.ts'
import { isMeant, MOST_LOOKED_AT, needlesOf } from '../../inbox/filters.ts'
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { DEAD, FIND_MESSAGE, SETTLED } from './known.ts'
import { cut, integer, prepare, text, type Row } from './statements.ts'

/** Numbers of events that one piece covers. */
const PIECE = 1_000n
/** After so long the walk ends, however far it has come. */
const LOOK_MS = 25
/** Events are admitted in the order of their times, but for processes whose clocks are apart by less. */
const SLACK_MS = 2_000

const STATES: Readonly<Record<EventState, number>> = { due: 0, leased: 0, settled: SETTLED, dead: DEAD }

/** The newest event before a place. */
const NEWEST_BEFORE = /* sql */ `
SELECT CAST(seq AS TEXT) AS place FROM events WHERE seq < :before ORDER BY events.seq DESC LIMIT 1
`
/** The oldest one from a place on, and when it was admitted. */
const OLDEST_FROM = /* sql */ `
SELECT CAST(seq AS TEXT) AS place, ${cut('admitted_at')} AS admitted FROM events WHERE seq >= :from ORDER BY events.seq LIMIT 1
`

interface LookingOptions {
  readonly database: Database
  /** The statement that lists those for which a condition holds, before `:before` and at most `:limit`. */
  readonly eventsWhere: (condition: string) => string
  readonly readEvent: (row: Row) => StoredEvent
}

export function createLooking({ database: { db }, eventsWhere, readEvent }: LookingOptions) {
  const newestBefore = prepare(db, NEWEST_BEFORE)
  const oldestFrom = prepare(db, OLDEST_FROM)
  const findMessage = prepare(db, FIND_MESSAGE)

  function newestSeq(before: bigint): bigint | undefined {
    const place = newestBefore.get({ before })?.['place']
    return typeof place === 'string' ? BigInt(place) : undefined
  }

  /** The first place at which all events may be too young: times follow numbers, so it is found by halves. */
  function placeOf(toMs: number, beforeAll: bigint): bigint {
    const first = oldestFrom.get({ from: -(2n ** 63n) })
    const last = newestSeq(beforeAll)
    if (first === undefined || last === undefined) return beforeAll
    let [low, high] = [BigInt(text(first, 'place')), last + 1n]
    while (low < high) {
      const middle = (low + high) / 2n
      const row = oldestFrom.get({ from: middle })
      if (row !== undefined && integer(row, 'admitted') < toMs + SLACK_MS) low = BigInt(text(row, 'place')) + 1n
      else high = middle
    }
    return low
  }

  return (page: EventsPage, after: bigint | undefined, beforeAll: bigint): EventsAnswer => {
    const { limit, fromMs, toMs, messageKey } = page
    if (messageKey !== undefined && findMessage.get({ key: digestBytes(messageKey) }) === undefined)
      return { items: [] }
    // Whoever asks for all of a message has to wait for it; the thread does not.
    const most = messageKey === undefined ? MOST_LOOKED_AT : Infinity
    const untilMs = monotonicMs() + LOOK_MS
    const needles = needlesOf(page)
    const rows = prepare(db, eventsWhere(conditionOf(page, needles)))
    const values: Record<string, Buffer> = messageKey === undefined ? {} : { key: digestBytes(messageKey) }
    for (const [index, needle] of needles.flat().entries()) values[`needle${index}`] = Buffer.from(needle)
    const items: StoredEvent[] = []
    let last: Row | undefined
    let before = after ?? (toMs === undefined ? beforeAll : placeOf(toMs, beforeAll))
    for (let looked = 0n; ; looked += PIECE) {
      const newest = newestSeq(before)
      if (newest === undefined) return { items }
      const floor = newest - PIECE + 1n
      const oldest = oldestFrom.get({ from: floor })
      const atMs = oldest === undefined ? 0 : integer(oldest, 'admitted')
      for (;;) {
        const found = rows.all({ ...values, before, floor, limit: limit + 1 })
        for (const row of found) {
          const event = readEvent(row)
          if (!isMeant(page, event)) continue
          if (items.length === limit && last !== undefined) return { items, next: text(last, 'place') }
          items.push(event)
          last = row
        }
        const end = found.at(limit)
        if (end === undefined) break
        before = BigInt(text(end, 'place'))
      }
      before = floor
      if (newestSeq(before) === undefined || (fromMs !== undefined && atMs < fromMs - SLACK_MS)) return { items }
      if (looked + PIECE >= most || monotonicMs() > untilMs)
        return { items, next: String(before), lookedBackToMs: atMs }
    }
  }
}

/** Before the row is read: what its bytes have in them, and its state. */
function conditionOf({ states, messageKey }: EventsPage, needles: readonly (readonly string[])[]): string {
  let index = 0
  const found = needles.map(
    (any) => `(${['false', ...any.map(() => `instr(record, :needle${index++}) > 0`)].join(' OR ')})`,
  )
  const inState = states === undefined ? [] : [`state IN (${states.map((state) => STATES[state]).join(', ')})`]
  const ofMessage = messageKey === undefined ? [] : ['events.message = (SELECT rowid FROM messages WHERE key = :key)']
  return ['seq >= :floor', ...ofMessage, ...inState, ...found].join(' AND ')
}
