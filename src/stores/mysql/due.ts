/** Finds due records and reserves them for this process. */
import { monotonicMs } from '../../runtime/clock.ts'
import type { MessagingWebhooksError } from '../../public/errors.ts'
import type { SharedStore, Versioned, VersionedChange } from '../../inbox/record-store.ts'
import { isNewerRecord } from '../../inbox/runtime/codec.ts'
import { newerRecord } from '../../inbox/runtime/commands.ts'
import { dueRowOf } from '../sql/due-row.ts'
import { digestOf, integer, integerOrNone, isNull, isOneOf, numberValue, textOf, type Row } from './encoding.ts'
import { SERVER_NOW, type Engine } from './engine.ts'
import { Conflict } from './failures.ts'
import { RECORD_COLUMNS, recordRowOf, type Records } from './records.ts'

/** How long a found record is reserved. */
const RESERVED_MS = 5_000
/** How long a record of a later version of this package is postponed. */
const NEWER_MS = 60_000

export function createDue(
  { connections, tables: { records }, noteTime }: Engine,
  { readRecords, write }: Pick<Records, 'readRecords' | 'write'>,
  report: (error: MessagingWebhooksError) => void,
): SharedStore['due'] {
  /** Locks what is due, skips what other processes have locked, and reserves it. */
  async function reserve(isDue: string, limit: number, reserved: string): Promise<readonly Row[]> {
    try {
      return await connections.together(async ({ run }) => {
        const { rows } = await run(`
SELECT ${RECORD_COLUMNS}, r.due_at FROM ${records} r FORCE INDEX (by_due) WHERE ${isDue}
ORDER BY r.due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`)
        if (rows.length > 0) await run(`UPDATE ${records} SET held_until = ${reserved} WHERE ${isAmong(rows)}`)
        return rows
      })
    } catch (error) {
      if (error instanceof Conflict) return []
      throw error
    }
  }

  /** Leaves records alone until a process of their version leases them. */
  async function putOff(rows: readonly Row[], reserved: string, nowMs: number): Promise<void> {
    const until = numberValue(nowMs + NEWER_MS)
    await connections.run(
      `UPDATE ${records} SET held_until = ${until} WHERE ${isAmong(rows)} AND held_until = ${reserved}`,
    )
    for (const row of rows) report(newerRecord(digestOf(row, 'digest')))
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
    noteTime(first, nowMs, sentMs)
    const reserved = numberValue(now + RESERVED_MS)
    const rows = first === undefined || isNull(first, 'first') ? [] : await reserve(isDue, limit, reserved)
    const isNewer = (row: Row): boolean => isNewerRecord(textOf(row, 'state'))
    const read = await readRecords(rows.filter((row) => !isNewer(row)).map(recordRowOf), true)
    const found = new Map<string, Versioned>()
    const newer = rows.filter(isNewer)
    const astray: VersionedChange[] = []
    for (const row of rows) {
      const key = digestOf(row, 'digest')
      const versioned = read.get(key)
      if (versioned === undefined) continue
      const { record, version: expected } = versioned
      const due = dueRowOf(record)
      if (due?.at === integer(row, 'due_at') && due.heldUntil <= now) found.set(key, versioned)
      // The columns contradict the record, which decides: any write sets them.
      else astray.push({ key, expected, before: record, after: record, payloads: [], admitted: [] })
    }
    if (newer.length > 0) await putOff(newer, reserved, nowMs)
    await write(astray, undefined)
    // Look again for records that were locked, postponed or repaired meanwhile.
    const isAgain = rows.length >= limit || astray.length > 0
    const rest = rows.length === 0 ? others : `${others} AND NOT r.${isAmong(rows)}`
    return { keys: [...found.keys()], nextDueMs: isAgain ? nowMs : await nextDueMs(now, rest), found }
  }
}

function isAmong(rows: readonly Row[]): string {
  return `number IN (${rows.map((row) => textOf(row, 'number')).join(', ')})`
}
