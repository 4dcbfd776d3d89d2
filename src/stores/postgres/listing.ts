/** The list of events, as far as the tables still have them. Of a settled one nobody keeps how often it was handed over, or when. */
import { LAST_TIME_MS, readRecord } from '../../inbox/record.ts'
import type { EventsPage, EventState, OpenStore, StoredEvent } from '../../inbox/store.ts'
import { isFiltered, meantOf } from '../../inbox/filters.ts'
import { pageOf } from '../pages.ts'
import { bytesOrNone, isNull, placeBy, text, truth, within, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { createLooking } from './looking.ts'

/**
 * A page of events, newest first by the time that their retention counts from: the two indexes of that have all events
 * between them. $1 and $2 are the last one's time, its message and its id (hex), $4 how many. Each is joined with what
 * changes of it, by the one key that says of which event that is.
 */
const SHOWN = /* sql */ `
SELECT e.since, e.message, encode(e.id, 'hex') AS id, encode(convert_to(e.ord, 'UTF8'), 'hex') AS ord,
  encode(e.record, 'hex') AS record, encode(e.raw, 'hex') AS raw, w.late, w.admitted,
  coalesce(w.attempts, d.attempts) AS attempts, w.leased AND num_nonnulls(w.turn) = 1 AS leased,
  CASE WHEN w.leased AND num_nonnulls(w.turn) = 1 THEN w.turn ELSE w.due END AS due,
  d.ended_at, encode(d.error, 'hex') AS error
FROM page e
  LEFT JOIN LATERAL (SELECT * FROM {schema}.waiting w WHERE w.message = e.message AND w.id = e.id LIMIT 1) w ON true
  LEFT JOIN LATERAL (SELECT * FROM {schema}.dead_letters d WHERE d.message = e.message AND d.id = e.id LIMIT 1) d ON true
ORDER BY e.since DESC, e.message DESC, e.id DESC
`
const BEFORE = `(since, message, id) < ($1::bigint, $2::bigint, decode($3::text, 'hex'))`
const NEWEST = 'ORDER BY since DESC, message DESC, id DESC LIMIT $4::integer'

const EVENTS = /* sql */ `
WITH page AS (
  (SELECT * FROM {schema}.events WHERE raw IS NOT NULL AND since <= $1::bigint AND ${BEFORE} ${NEWEST})
  UNION ALL
  (SELECT * FROM {schema}.events WHERE raw IS NULL AND since <= $1::bigint AND ${BEFORE} ${NEWEST})
  ${NEWEST}
) ${SHOWN}`

/** Those of the message with the key $5 (hex). */
const EVENTS_OF_MESSAGE = /* sql */ `
WITH page AS (
  SELECT * FROM {schema}.events
  WHERE message = (SELECT m.id FROM {schema}.messages m WHERE m.key = decode($5::text, 'hex')) AND ${BEFORE} ${NEWEST}
) ${SHOWN}`

/** The one of them with the id $6 (hex). */
const EVENT_OF_MESSAGE = /* sql */ `
WITH page AS (
  SELECT * FROM {schema}.events
  WHERE message = (SELECT m.id FROM {schema}.messages m WHERE m.key = decode($5::text, 'hex'))
    AND id = decode($6::text, 'hex') AND ${BEFORE} ${NEWEST}
) ${SHOWN}`

/** The one with the id $5 (hex), wherever it is: no index has it without its message. */
const EVENT = /* sql */ `
WITH page AS (
  SELECT * FROM {schema}.events WHERE id = decode($5::text, 'hex') AND ${BEFORE} ${NEWEST}
) ${SHOWN}`

const CURSOR = /^(-?\d{1,19})\.(-?\d{1,19})\.([0-9a-f]*)$/
/** Greater than any time and any number of a message. */
const AFTER_ALL = '9223372036854775807'

export function createListing(engine: Engine): Pick<OpenStore, 'events'> {
  const { connections, sql } = engine
  const all = sql(EVENTS)
  const ofMessage = sql(EVENTS_OF_MESSAGE)
  const one = sql(EVENT)
  const oneOfMessage = sql(EVENT_OF_MESSAGE)
  const look = createLooking({ engine, shown: SHOWN, readEvent })

  function rowsOf({ after, limit, messageKey, id }: EventsPage): Promise<readonly Row[]> {
    const place = [...placeOf(after), limit + 1]
    if (id !== undefined && messageKey !== undefined) return connections.query(oneOfMessage, [...place, messageKey, id])
    if (id !== undefined) return connections.query(one, [...place, id])
    return messageKey === undefined
      ? connections.query(all, place)
      : connections.query(ofMessage, [...place, messageKey])
  }

  return {
    async events(page) {
      const isOfFew = page.id !== undefined || page.messageKey !== undefined
      if (isFiltered(page) && !isOfFew) return look(page, placeOf(page.after))
      const listed = pageOf(await rowsOf(page), page.limit, readEvent, placeBy('since', 'message', 'id'))
      return meantOf(listed, page)
    },
  }
}

function placeOf(after: string | undefined): readonly [since: string, message: string, id: string] {
  const [, since = AFTER_ALL, message = AFTER_ALL, id = ''] = CURSOR.exec(after ?? '') ?? []
  return [since, message, id]
}

function readEvent(row: Row): StoredEvent {
  const isWaiting = !isNull(row, 'admitted')
  const isDead = !isWaiting && !isNull(row, 'ended_at')
  const state: EventState = isDead ? 'dead' : !isWaiting ? 'settled' : truth(row, 'leased') ? 'leased' : 'due'
  return {
    id: text(row, 'id'),
    state,
    atMs: numberOrNone(row, 'since', LAST_TIME_MS),
    late: isWaiting ? truth(row, 'late') : undefined,
    attempts: numberOrNone(row, 'attempts', Number.MAX_SAFE_INTEGER),
    admittedAtMs: numberOrNone(row, 'admitted', LAST_TIME_MS),
    dueMs: isWaiting ? numberOrNone(row, 'due', LAST_TIME_MS) : undefined,
    endedAtMs: isDead ? numberOrNone(row, 'ended_at', LAST_TIME_MS) : undefined,
    error: isDead ? bytesOrNone(row, 'error')?.toString('utf8') : undefined,
    order: bytesOrNone(row, 'ord')?.toString('utf8'),
    record: readRecord(bytesOrNone(row, 'record')),
    raw: bytesOrNone(row, 'raw'),
  }
}

function numberOrNone(row: Row, column: string, most: number): number | undefined {
  if (isNull(row, column)) return undefined
  const number = within(row, column, most, -1)
  return number === -1 ? undefined : number
}
