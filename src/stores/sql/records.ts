/** Reads records from the tables, which other processes write as well, and finds them by their indexes. */
import type { Retention } from '../../messages/commands.ts'
import type { Payload } from '../../messages/views.ts'
import type { DueLookup, EventPlace, FoundKeys, Versioned } from '../engine.ts'
import { storedRecord } from '../stored.ts'
import type { Reading } from './engine.ts'
import { digestList, LEAST, leastNumberAt, timeValue, type RecordRow } from './values.ts'

export function versionedIn(row: RecordRow): Versioned {
  return { version: row.version, record: storedRecord(row, row.key) }
}

export type TableRecords = ReturnType<typeof createTableRecords>

export function createTableRecords({ statements, rows, ask }: Reading) {
  return {
    async read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned>> {
      if (keys.length === 0) return new Map()
      const found = await ask(statements.read, [digestList(keys)])
      return new Map(found.map((row) => [rows.keyIn(row), versionedIn(rows.recordIn(row))]))
    },
    async overdue({ nowMs, limit }: Pick<DueLookup, 'nowMs' | 'limit'>): Promise<FoundKeys> {
      const now = Math.floor(nowMs)
      const keys = (await ask(statements.overdue, [now, limit])).map(rows.keyIn)
      if (keys.length >= limit) return { keys, nextMs: nowMs }
      const [times] = await ask(statements.nextOverdue, [now])
      return { keys, nextMs: times && rows.integerOrNone(times, 'next') }
    },
    async payloads(places: readonly EventPlace[]) {
      const payloads: (Payload | undefined)[] = places.map(() => undefined)
      if (places.length === 0) return payloads
      const wanted = places.map(({ key, id }, place) => ({ place, digest: key, id }))
      for (const row of await ask(statements.payloads, [JSON.stringify(wanted)]))
        payloads[rows.integer(row, 'place')] = rows.payloadIn(row)
      return payloads
    },
    async payloadIds(keys: readonly string[]) {
      if (keys.length === 0) return []
      const ids = new Map<string, string[]>(keys.map((key) => [key, []]))
      for (const row of await ask(statements.payloadIds, [digestList(keys)]))
        ids.get(rows.keyIn(row))?.push(rows.digest(row, 'id'))
      return keys.map((key) => ids.get(key) ?? [])
    },
    async counts() {
      const [row] = await ask(statements.counts)
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
  { statements, rows, ask }: Reading,
  { payloadMs, deadLetterMs, dedupeMs }: Retention,
): (lookup: Pick<DueLookup, 'nowMs' | 'limit'>) => Promise<FoundKeys> {
  let afterRecord = LEAST
  let afterPayload: readonly [atMs: string, record: string] = [LEAST, LEAST]

  return async ({ nowMs, limit }) => {
    const now = Math.floor(nowMs)
    const records = await ask(statements.oldRecords, [afterRecord, leastNumberAt(now - dedupeMs), limit])
    const letters = await ask(statements.oldLetters, [timeValue(now - deadLetterMs), limit])
    const payloads = await ask(statements.oldPayloads, [timeValue(now - payloadMs), ...afterPayload, limit])
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
