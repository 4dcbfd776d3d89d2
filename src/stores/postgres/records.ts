/** Reads records from the tables, writes them if no one has changed them, and finds them by their indexes. */
import type { Payload } from '../../messages/views.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import type { EventPlace, SharedEngine } from '../engine.ts'
import { readDue } from '../sql/due.ts'
import { createTableRecords } from '../sql/records.ts'
import { isNull, numberValue } from '../sql/values.ts'
import { RESERVED_MS } from '../stored.ts'
import type { Batch } from './connections.ts'
import { integer, integerOrNone, isOneOf, keyIn, rowReader, rowsQuery, SERVER_NOW } from './encoding.ts'
import { rowsBy, type Engine } from './engine.ts'
import { parameter } from './plans.ts'
import { createWriting } from './writing.ts'

/** `together`: the connection to use. */
export function createRecords(engine: Engine, together: Batch = engine.together) {
  const { schema, dialect } = engine
  const write = createWriting(engine, together)
  return {
    ...createTableRecords(dialect, rowsBy(together)),
    write,
    dueEvents: createDue(engine, write),
    async payloads(places: readonly EventPlace[]) {
      if (places.length === 0) return []
      const wanted = rowsQuery([
        { name: 'place', type: 'integer', values: places.map((_, place) => String(place)) },
        { name: 'key', type: 'digest', values: places.map(({ key }) => key) },
        { name: 'id', type: 'digest', values: places.map(({ id }) => id) },
      ])
      const [rows = []] = await together(`
SELECT u.place, ${dialect.payloadColumns} FROM (${wanted}) u JOIN ${schema}.records r ON r.key = u.key
  JOIN ${schema}.payloads p ON p.record = r.number AND p.id = u.id;`)
      const payloads: (Payload | undefined)[] = places.map(() => undefined)
      for (const row of rows) payloads[integer(row, 'place')] = rowReader.payloadIn(row)
      return payloads
    },
  }
}

/** A reservation may be lost in a crash of the server, so it need not be on the disk. */
const SOON_ON_DISK = 'SET LOCAL synchronous_commit = off;'

/** Finds due records, reserves them for this process, and reads them with the payload that will probably run. */
function createDue(
  { schema, together, noteTime, clock, dialect: { recordColumns, payloadColumns } }: Engine,
  write: SharedEngine['write'],
): SharedEngine['due'] {
  return async ({ limit, nowMs, exclude }) => {
    const now = Math.floor(nowMs)
    const others =
      exclude.size === 0
        ? ''
        : `AND NOT EXISTS (SELECT FROM ${schema}.records x WHERE x.number = d.record AND ${isOneOf('x.key', [...exclude])})`
    const nowValue = parameter(numberValue(now), 'bigint')
    const most = parameter(String(limit), 'bigint')
    const sentMs = monotonicMs()
    const [all = []] = await together(
      `
WITH found AS MATERIALIZED (
  SELECT d.at, d.record, d.first FROM ${schema}.due d
  WHERE d.at <= ${nowValue} AND d.held_until <= ${nowValue} ${others}
  ORDER BY d.at LIMIT ${most} FOR UPDATE SKIP LOCKED
), reserved AS (
  UPDATE ${schema}.due d SET held_until = ${SERVER_NOW} + ${RESERVED_MS} WHERE d.record = ANY (ARRAY(SELECT record FROM found))
)
SELECT times.now, times.next, found.at AS due_at, found.record AS due_record, ${recordColumns}, ${payloadColumns}
FROM (SELECT ${SERVER_NOW} AS now, CASE WHEN (SELECT count(*) FROM found) < ${most} THEN least(
    (SELECT min(d.at) FROM ${schema}.due d WHERE d.at > ${nowValue} ${others}),
    (SELECT min(d.held_until) FROM ${schema}.due d WHERE d.at <= ${nowValue} AND d.held_until > ${nowValue} ${others})
  ) END AS next) AS times
  LEFT JOIN (
    found LEFT JOIN ${schema}.records r ON r.number = found.record
    LEFT JOIN ${schema}.payloads p ON p.record = found.record AND p.id = found.first
  ) ON true ORDER BY found.at;`,
      [SOON_ON_DISK],
    )
    const [times] = all
    noteTime(times, sentMs)
    const rows = times === undefined || isNull(times, 'due_record') ? [] : all
    const { found, contradicted, ended } = readDue(rows, now, rowReader)
    const payloads = new Map<string, Payload>()
    for (const row of rows) {
      const key = isNull(row, 'number') || isNull(row, 'id') ? undefined : keyIn(row)
      if (key !== undefined && found.has(key)) payloads.set(key, rowReader.payloadIn(row))
    }
    // The lock returns the current row, but the record is read as of the start of the statement, so another process may have
    // written both in between. The record decides.
    if (contradicted.length > 0) await write(contradicted, clock.nowMs())
    if (ended.length > 0)
      await together(`DELETE FROM ${schema}.due d WHERE d.record IN (${ended.join(', ')}) AND d.held_until > ${now};`)
    // Look again for records that were locked or written meanwhile.
    const isAgain = rows.length >= limit || contradicted.length + ended.length > 0
    return { keys: [...found.keys()], nextMs: isAgain ? nowMs : times && integerOrNone(times, 'next'), found, payloads }
  }
}
