/** Reads records from the tables, which other processes write as well, and finds them by their indexes. */
import type { Retention } from '../../messages/commands.ts'
import type { DueLookup, FoundKeys, Versioned } from '../engine.ts'
import { storedRecord } from '../stored.ts'
import type { Dialect, RowsOf } from './dialect.ts'
import { LEAST, leastNumberAt, numberValue, timeValue, type RecordRow } from './values.ts'

export type TableRecords = ReturnType<typeof createTableRecords>

export function versionedIn(row: RecordRow): Versioned {
  return { version: row.version, record: storedRecord(row, row.key) }
}

/** `rowsOf`: on the connection to use. */
export function createTableRecords(dialect: Dialect, rowsOf: RowsOf) {
  const { digestIn, isOneOf, recordColumns, due, rows } = dialect
  const { records, payloads, dead_letters: deadLetters } = dialect.tables
  const key = `r.${dialect.keyColumn}`
  const digest = `${digestIn(key)} AS digest`

  return {
    async read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned>> {
      if (keys.length === 0) return new Map()
      const [found = []] = await rowsOf(`SELECT ${recordColumns} FROM ${records} r WHERE ${isOneOf(key, keys)}`)
      return new Map(found.map((row) => [rows.keyIn(row), versionedIn(rows.recordIn(row))]))
    },
    async overdue({ nowMs, limit }: Pick<DueLookup, 'nowMs' | 'limit'>): Promise<FoundKeys> {
      const now = numberValue(Math.floor(nowMs))
      const [found = [], [times] = []] = await rowsOf(
        `
SELECT ${digest} FROM ${records} r WHERE r.overdue_at <= ${now} ORDER BY r.overdue_at, r.number LIMIT ${limit}`,
        `SELECT min(r.overdue_at) AS next FROM ${records} r WHERE r.overdue_at > ${now}`,
      )
      const keys = found.map(rows.keyIn)
      return { keys, nextMs: keys.length >= limit ? nowMs : times && rows.integerOrNone(times, 'next') }
    },
    async payloadIds(keys: readonly string[]) {
      if (keys.length === 0) return []
      const [found = []] = await rowsOf(`
SELECT ${digest}, ${digestIn('p.id')} AS id FROM ${records} r JOIN ${payloads} p ON p.record = r.number
WHERE ${isOneOf(key, keys)}`)
      const ids = new Map<string, string[]>(keys.map((each) => [each, []]))
      for (const row of found) ids.get(rows.keyIn(row))?.push(rows.digest(row, 'id'))
      return keys.map((each) => ids.get(each) ?? [])
    },
    async counts() {
      const [[row] = []] = await rowsOf(`
SELECT (SELECT coalesce(sum(d.waiting), 0) FROM ${due.table} d WHERE d.${due.at} IS NOT NULL) AS unsettled,
  (SELECT count(*) FROM ${deadLetters}) AS dead_letters`)
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: rows.integer(row, 'unsettled'), deadLetters: rows.integer(row, 'dead_letters') }
    },
  }
}

/**
 * Finds records that may contain expired events, in bounded steps. `expire` decides what expires. The walks through records and
 * payloads continue where the last step ended, because some old records must be kept: they still wait. They restart after the
 * last old one.
 */
export function createAging(
  { tables, keyColumn, digestIn, bigintValue, comparePair, rows, rowsOf }: Dialect,
  { payloadMs, deadLetterMs, dedupeMs }: Retention,
): (lookup: Pick<DueLookup, 'nowMs' | 'limit'>) => Promise<FoundKeys> {
  const key = `${digestIn(`r.${keyColumn}`)} AS digest`
  let afterRecord = LEAST
  let afterPayload: readonly [atMs: string, record: string] = [LEAST, LEAST]

  return async ({ nowMs, limit }) => {
    const now = Math.floor(nowMs)
    const [records = [], letters = [], payloads = []] = await rowsOf(
      `
SELECT ${key}, r.number FROM ${tables.records} r
WHERE r.number < ${leastNumberAt(now - dedupeMs)} AND r.number > ${bigintValue(afterRecord)} ORDER BY r.number LIMIT ${limit}`,
      `
SELECT ${key} FROM ${tables.dead_letters} d JOIN ${tables.records} r ON r.number = d.record
WHERE d.died_at < ${timeValue(now - deadLetterMs)} ORDER BY d.died_at LIMIT ${limit}`,
      `
SELECT ${key}, p.admitted_at, p.record FROM (
  SELECT admitted_at, record FROM ${tables.payloads}
  WHERE admitted_at < ${timeValue(now - payloadMs)} AND ${comparePair(['admitted_at', 'record'], '>', afterPayload)}
  ORDER BY admitted_at, record LIMIT ${limit}
) p JOIN ${tables.records} r ON r.number = p.record ORDER BY p.admitted_at, p.record`,
    )
    const [record, payload] = [records.at(-1), payloads.at(-1)]
    afterRecord = record !== undefined && records.length === limit ? rows.digits(record, 'number') : LEAST
    const hasMorePayloads = payload !== undefined && payloads.length === limit
    afterPayload = hasMorePayloads
      ? [rows.digits(payload, 'admitted_at'), rows.digits(payload, 'record')]
      : [LEAST, LEAST]
    const keys = [...new Set([...records, ...letters, ...payloads].map(rows.keyIn))]
    return { keys, nextMs: undefined }
  }
}
