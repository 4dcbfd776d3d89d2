/** Finds due records and reserves them for this process. */
import { monotonicMs } from '../../runtime/clock.ts'
import type { MessagingWebhooksError } from '../../public/errors.ts'
import type { SharedStore } from '../../inbox/record-store.ts'
import { newerRecord } from '../../inbox/runtime/commands.ts'
import { NEWER_MS, readDue, repairingDue, RESERVED_MS } from '../sql/due.ts'
import { isNull, type Row } from '../sql/rows.ts'
import { numberValue } from '../sql/values.ts'
import { digits, integerOrNone, isOneOf, keyIn, rowReader } from './encoding.ts'
import { SERVER_NOW, type Engine } from './engine.ts'
import { Conflict } from './failures.ts'
import type { Records } from './records.ts'

export function createDue(
  { connections, tables: { records }, dialect: { recordColumns }, noteTime }: Engine,
  { readRecords, write }: Pick<Records, 'readRecords' | 'write'>,
  report: (error: MessagingWebhooksError) => void,
): SharedStore['due'] {
  /** Locks what is due, skips what other processes have locked, and reserves it. */
  async function reserve(isDue: string, limit: number, reserved: string): Promise<readonly Row[]> {
    try {
      return await connections.together(async ({ run }) => {
        const { rows } = await run(`
SELECT ${recordColumns}, r.due_at FROM ${records} r FORCE INDEX (by_due) WHERE ${isDue}
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
    for (const row of rows) report(newerRecord(keyIn(row)))
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
    const { found, newer, astray, records: read } = await readDue(rows, now, rowReader, readRecords)
    if (newer.length > 0) await putOff(newer, reserved, nowMs)
    // The columns of a row contradict the record, which decides.
    const contradicted = [...read].filter(([key]) => !found.has(key))
    await write(
      contradicted.map(([key, versioned]) => repairingDue(key, versioned)),
      undefined,
    )
    // Look again for records that were locked, postponed or repaired meanwhile.
    const isAgain = rows.length >= limit || astray.length > 0
    const rest = rows.length === 0 ? others : `${others} AND NOT r.${isAmong(rows)}`
    return { keys: [...found.keys()], nextDueMs: isAgain ? nowMs : await nextDueMs(now, rest), found }
  }
}

function isAmong(rows: readonly Row[]): string {
  return `number IN (${rows.map((row) => digits(row, 'number')).join(', ')})`
}
