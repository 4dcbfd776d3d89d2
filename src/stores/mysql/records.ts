/** Reads records from the tables, writes them if nothing has changed them, and finds them by their indexes. */
import type { Payload } from '../../messages/views.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import type { EventPlace, SharedEngine } from '../engine.ts'
import { readDue } from '../sql/due.ts'
import { createTableRecords } from '../sql/records.ts'
import { isNull, type Row } from '../sql/values.ts'
import { RESERVED_MS } from '../stored.ts'
import type { Connections, Run } from './connections.ts'
import { digestValue, digits, integerOrNone, isOneOf, keyIn, rowReader } from './encoding.ts'
import { rowsBy, SERVER_NOW, type Engine } from './engine.ts'
import { Conflict } from './failures.ts'
import { createWriting } from './writing.ts'

/** `run` and `together`: the connection to use. */
export function createRecords(
  engine: Engine,
  run: Run = engine.connections.run,
  together: Connections['together'] = engine.connections.together,
) {
  const { dialect, tables } = engine
  const write = createWriting(engine, together)
  return {
    ...createTableRecords(dialect, rowsBy(run)),
    write,
    dueEvents: createDue(engine, write),
    async payloads(places: readonly EventPlace[]) {
      if (places.length === 0) return []
      const keys = places.map(({ key }) => key)
      const wanted = places.map(({ key, id }) => `(r.digest = ${digestValue(key)} AND p.id = ${digestValue(id)})`)
      const { rows } = await run(`
SELECT r.digest, ${dialect.payloadColumns} FROM ${tables.records} r JOIN ${tables.payloads} p ON p.record = r.number
WHERE ${isOneOf('r.digest', keys)} AND (${wanted.join(' OR ')})`)
      const found = new Map(rows.map((row) => [`${keyIn(row)} ${rowReader.digest(row, 'id')}`, row]))
      return places.map(({ key, id }): Payload | undefined => {
        const row = found.get(`${key} ${id}`)
        return row && rowReader.payloadIn(row)
      })
    },
  }
}

/** Finds due records and reserves them for this process. */
function createDue(
  { connections, clock, tables: { records }, dialect: { recordColumns }, noteTime }: Engine,
  write: SharedEngine['write'],
): SharedEngine['due'] {
  /** Locks what is due, skips what other processes have locked, and reserves it. */
  async function reserve(isDue: string, limit: number): Promise<readonly Row[]> {
    try {
      return await connections.together(async ({ run }) => {
        const { rows } = await run(`
SELECT ${recordColumns}, r.due_at, r.number AS due_record FROM ${records} r FORCE INDEX (by_due) WHERE ${isDue}
ORDER BY r.due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`)
        if (rows.length > 0)
          await run(`UPDATE ${records} SET held_until = ${SERVER_NOW} + ${RESERVED_MS} WHERE ${isAmong(rows)}`)
        return rows
      })
    } catch (error) {
      if (error instanceof Conflict) return []
      throw error
    }
  }

  /** The next time at which something becomes due, or a reservation or lease ends. */
  async function nextDueMs(now: number, others: string): Promise<number | undefined> {
    const { rows } = await connections.run(`
SELECT (SELECT MIN(r.due_at) FROM ${records} r WHERE r.due_at > ${now}${others}) AS next,
  (SELECT MIN(r.held_until) FROM ${records} r WHERE r.due_at <= ${now} AND r.held_until > ${now}${others}) AS held`)
    const [row] = rows
    if (row === undefined) return undefined
    const times = [integerOrNone(row, 'next'), integerOrNone(row, 'held')].filter((time) => time !== undefined)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  return async ({ limit, nowMs, exclude }) => {
    const now = Math.floor(nowMs)
    const others = exclude.size === 0 ? '' : ` AND NOT ${isOneOf('r.digest', [...exclude])}`
    const isDue = `r.due_at <= ${now} AND r.held_until <= ${now}${others}`
    const sentMs = monotonicMs()
    // Most polls find nothing, and this takes no lock.
    const peek = await connections.run(`
SELECT ${SERVER_NOW} AS now,
  (SELECT r.number FROM ${records} r FORCE INDEX (by_due) WHERE ${isDue} ORDER BY r.due_at LIMIT 1) AS first`)
    const [first] = peek.rows
    noteTime(first, sentMs)
    const rows = first === undefined || isNull(first, 'first') ? [] : await reserve(isDue, limit)
    const { found, contradicted, ended } = readDue(rows, now, rowReader)
    // The columns of a row contradict the record, which decides.
    if (contradicted.length > 0) await write(contradicted, clock.nowMs())
    if (ended.length > 0)
      await connections.run(`UPDATE ${records} SET due_at = NULL, waiting = 0 WHERE number IN (${ended.join(', ')})`)
    // Look again for records that were locked or written meanwhile.
    const isAgain = rows.length >= limit || contradicted.length + ended.length > 0
    const rest = rows.length === 0 ? others : `${others} AND NOT r.${isAmong(rows)}`
    return { keys: [...found.keys()], nextMs: isAgain ? nowMs : await nextDueMs(now, rest), found }
  }
}

function isAmong(rows: readonly Row[]): string {
  return `number IN (${rows.map((row) => digits(row, 'number')).join(', ')})`
}
