/** The list of events, as far as the file still has them. */
import { LAST_TIME_MS, readRecord } from '../../inbox/record.ts'
import type { EventsAnswer, EventsPage, EventState, StoredEvent } from '../../inbox/store.ts'
import { isFiltered, meantOf } from '../../inbox/filters.ts'
import { pageOf } from '../pages.ts'
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { DEAD, SETTLED } from './known.ts'
import { createLooking } from './looking.ts'
import { blob, cut, prepare, text, type Row } from './statements.ts'

/** Greater than any number of an event. */
const BEFORE_NONE = 2n ** 63n - 1n

/**
 * A page of events, newest first. `held`: its message is under
 * a lease, and that is this event's.
 */
function eventsWhere(condition: string, from = 'events'): string {
  return /* sql */ `
SELECT CAST(events.seq AS TEXT) AS place, lower(hex(events.id)) AS id, ord, state, late, ${cut('attempts')} AS attempts,
  ${cut('admitted_at')} AS admitted_at, ${cut('ended_at')} AS ended_at, error, record, raw,
  messages.lease_token <> 0 AND messages.lease_token = events.token AS held,
  ${cut('CASE WHEN messages.lease_token <> 0 AND messages.lease_token = events.token THEN messages.due ELSE events.due END')} AS due
FROM ${from} LEFT JOIN messages ON messages.rowid = events.message
WHERE ${condition} AND events.seq < :before ORDER BY events.seq DESC LIMIT :limit
`
}

const EVENTS = eventsWhere('true')
const EVENT = eventsWhere('events.id = :id')

/** A walk through the table, for none of its other indexes has the events in their order. */
const IN_ORDER = 'events NOT INDEXED'

export function createListing(database: Database): { readonly events: (page: EventsPage) => EventsAnswer } {
  const { db } = database
  const all = prepare(db, EVENTS)
  const one = prepare(db, EVENT)
  const look = createLooking({ database, eventsWhere: (condition) => eventsWhere(condition, IN_ORDER), readEvent })

  function rowsOf({ after, limit, id }: EventsPage): readonly Row[] {
    const place = { before: readPlace(after) ?? BEFORE_NONE, limit: limit + 1 }
    if (id !== undefined) return one.all({ ...place, id: digestBytes(id) })
    return all.all(place)
  }

  return {
    events(page) {
      const isToLookFor = isFiltered(page) || page.messageKey !== undefined
      if (isToLookFor && page.id === undefined) return look(page, readPlace(page.after), BEFORE_NONE)
      const listed = pageOf(rowsOf(page), page.limit, readEvent, (last) => text(last, 'place'))
      return meantOf(listed, page)
    },
  }
}

function readPlace(after: string | undefined): bigint | undefined {
  return after !== undefined && /^-?\d{1,19}$/.test(after) ? BigInt(after) : undefined
}

function readEvent(row: Row): StoredEvent {
  const state = stateOf(row)
  return {
    id: text(row, 'id'),
    state,
    atMs: timeOrNone(row, 'admitted_at'),
    late: row['late'] === 1,
    attempts: numberOrNone(row, 'attempts'),
    admittedAtMs: timeOrNone(row, 'admitted_at'),
    dueMs: state === 'due' || state === 'leased' ? timeOrNone(row, 'due') : undefined,
    endedAtMs: state === 'settled' || state === 'dead' ? timeOrNone(row, 'ended_at') : undefined,
    error: state === 'dead' ? textOrNone(row, 'error') : undefined,
    order: textOrNone(row, 'ord'),
    record: readRecord(blob(row, 'record')),
    raw: blob(row, 'raw'),
  }
}

function stateOf({ state, held }: Row): EventState {
  if (state === SETTLED) return 'settled'
  if (state === DEAD) return 'dead'
  return held === 1 ? 'leased' : 'due'
}

function numberOrNone(row: Row, column: string): number | undefined {
  const value = row[column]
  return typeof value === 'number' ? value : undefined
}

function timeOrNone(row: Row, column: string): number | undefined {
  const time = numberOrNone(row, column)
  return time === undefined || time > LAST_TIME_MS ? undefined : time
}

function textOrNone(row: Row, column: string): string | undefined {
  const value = row[column]
  return typeof value === 'string' ? value : undefined
}
