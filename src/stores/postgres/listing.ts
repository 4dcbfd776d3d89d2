/** The list of events, as far as the tables still have them. Of a settled one nobody keeps how often it was handed over, or when. */
import { LAST_TIME_MS, readRecord } from '../../inbox/record.ts'
import type { EventsPage, EventState, Page, StoredEvent } from '../../inbox/store.ts'
import type { Engine } from './engine.ts'
import { bytesOrNone, isNull, text, truth, within, type Row } from './row.ts'
import { EVENT, EVENTS, EVENTS_OF_MESSAGE } from './statements/events.ts'

const CURSOR = /^(-?\d{1,19})\.(-?\d{1,19})\.([0-9a-f]*)$/
/** Greater than any time and any number of a message. */
const AFTER_ALL = '9223372036854775807'

interface Listing {
  events(page: EventsPage): Promise<Page<StoredEvent>>
}

export function createListing({ connections, sql }: Engine): Listing {
  const all = sql(EVENTS)
  const ofMessage = sql(EVENTS_OF_MESSAGE)
  const one = sql(EVENT)

  function rowsOf({ after, limit, messageKey, id }: EventsPage): Promise<readonly Row[]> {
    const [, since = AFTER_ALL, message = AFTER_ALL, afterId = ''] = CURSOR.exec(after ?? '') ?? []
    const place = [since, message, afterId, limit + 1]
    if (id !== undefined) return connections.query(one, [...place, id])
    return messageKey === undefined
      ? connections.query(all, place)
      : connections.query(ofMessage, [...place, messageKey])
  }

  return {
    async events(page) {
      const rows = await rowsOf(page)
      const items = rows.slice(0, page.limit).map(readEvent)
      const last = rows[page.limit - 1]
      // As the server wrote them: they may be beyond what is exact here.
      return rows.length > page.limit && last !== undefined
        ? { items, next: `${text(last, 'since')}.${text(last, 'message')}.${text(last, 'id')}` }
        : { items }
    },
  }
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
