/**
 * The list of events through a filter: a bounded number of them, by the indexes of their retention, of which the server sends those
 * whose bytes have in them what is looked for.
 */
import type { EventFilter, EventsAnswer, EventsPage, StoredEvent } from '../../inbox/store.ts'
import { isMeant, MOST_LOOKED_AT, needlesOf } from '../../inbox/filters.ts'
import { hexOf, integer, placeBy, text, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'

/**
 * The events that are looked at, newest first. $1, $2 and $3 are the place (time, message, id in hex) that they come after, $4 how
 * many, $5 and $6 from when and to when.
 */
const LOOKED = /* sql */ `
looked AS (
  (SELECT * FROM {schema}.events WHERE raw IS NOT NULL AND {within} {newest})
  UNION ALL
  (SELECT * FROM {schema}.events WHERE raw IS NULL AND {within} {newest})
  {newest}
)`
  .replaceAll(
    '{within}',
    `since <= $1::bigint AND since >= $5::bigint AND since < $6::bigint
    AND (since, message, id) < ($1::bigint, $2::bigint, decode($3::text, 'hex'))`,
  )
  .replaceAll('{newest}', 'ORDER BY since DESC, message DESC, id DESC LIMIT $4::integer')

/** Whether one of these texts (hex) stands in the record; true where none is looked for. */
function hasOneOf(parameter: number): string {
  return /* sql */ `($${parameter}::text[] IS NULL OR EXISTS (
    SELECT 1 FROM unnest($${parameter}::text[]) AS needle WHERE position(decode(needle, 'hex') IN record) > 0))`
}

/** Lists of texts that may be looked for at once; each filter has one. */
const MOST_LISTS = 5
const FIRST_LIST = 9

/**
 * A page of those of them that may be meant. $7 is how many, $8 in which states (waiting, dead or settled), and then come lists of
 * texts.
 */
const FOUND = /* sql */ `
WITH ${LOOKED}, page AS (
  SELECT * FROM looked e
  WHERE ${Array.from({ length: MOST_LISTS }, (_, index) => hasOneOf(FIRST_LIST + index)).join(' AND ')}
    AND ($8::text[] IS NULL OR CASE
      WHEN EXISTS (SELECT 1 FROM {schema}.waiting w WHERE w.message = e.message AND w.id = e.id) THEN 'waiting'
      WHEN EXISTS (SELECT 1 FROM {schema}.dead_letters d WHERE d.message = e.message AND d.id = e.id) THEN 'dead'
      ELSE 'settled' END = ANY($8::text[]))
  ORDER BY since DESC, message DESC, id DESC LIMIT $7::integer
) `

/** The last one that was looked at, and how many there were. */
const LAST = /* sql */ `
WITH ${LOOKED}
SELECT since, message, encode(id, 'hex') AS id, (SELECT count(*) FROM looked) AS count
FROM looked ORDER BY since, message, id LIMIT 1
`

interface LookingOptions {
  readonly engine: Engine
  /** What is shown of each of a page of events. */
  readonly shown: string
  readonly readEvent: (row: Row) => StoredEvent
}

/** Of any column. */
const LARGEST = '9223372036854775807'
const LEAST = '-9223372036854775808'

export function createLooking({ engine: { connections, sql }, shown, readEvent }: LookingOptions) {
  const found = sql(FOUND + shown)
  const last = sql(LAST)
  const placeOf = placeBy('since', 'message', 'id')

  return async (
    page: EventsPage,
    place: readonly [since: string, message: string, id: string],
  ): Promise<EventsAnswer> => {
    const { limit, states } = page
    const looked = [...place, MOST_LOOKED_AT, timeOf(page.fromMs, LEAST), timeOf(page.toMs, LARGEST)]
    const needles = needlesOf(page).map((any) => any.map(hexOf))
    const lists = Array.from({ length: MOST_LISTS }, (_, index) => needles[index] ?? null)
    const rows = await connections.query(found, [...looked, limit + 1, states ? statesOf(states) : null, ...lists])
    const items = rows
      .slice(0, limit)
      .map(readEvent)
      .filter((event) => isMeant(page, event))
    const end = rows.length > limit ? rows[limit - 1] : undefined
    if (end !== undefined) return { items, next: placeOf(end) }
    const [oldest] = await connections.query(last, looked)
    if (oldest === undefined || integer(oldest, 'count') < MOST_LOOKED_AT) return { items }
    return { items, next: placeOf(oldest), lookedBackToMs: Number(text(oldest, 'since')) }
  }
}

function timeOf(ms: number | undefined, otherwise: string): string {
  return ms === undefined ? otherwise : String(Math.ceil(ms))
}

function statesOf(states: NonNullable<EventFilter['states']>): readonly string[] {
  return states.map((state) => (state === 'due' || state === 'leased' ? 'waiting' : state))
}
