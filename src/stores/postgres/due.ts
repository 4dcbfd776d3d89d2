/** Finds records of which something is due, reserves them for this process, and reads them with the payload that is likely to run. */
import { monotonicMs } from '../../runtime/clock.ts'
import type { MessagingWebhooksError } from '../../public/errors.ts'
import type { Payload, SharedStore, Versioned } from '../../inbox/record-store.ts'
import { isNewerRecord } from '../../inbox/runtime/codec.ts'
import { newerRecord } from '../../inbox/runtime/commands.ts'
import { integer, integerOrNone, isNull, numberValue, text, textOf, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { isOneOf, PAYLOAD_COLUMNS, payloadIn, RECORD_COLUMNS, type Records } from './records.ts'
import { SERVER_NOW } from './sql-text.ts'
import { dueRowOf } from './writing.ts'

/** Who finds something due has it for so long alone. */
const RESERVED_MS = 5_000
/** A reservation that a crash of the server takes back does no harm: it need not be on the disk before the answer. */
const SOON_ON_DISK = 'SET LOCAL synchronous_commit = off;'
/** A record of a later version of this package is put off for so long. */
const NEWER_MS = 60_000

export function createDue(
  { schema, together, isTime, hear }: Engine,
  { recordsIn, write }: Pick<Records, 'recordsIn' | 'write'>,
  report: (error: MessagingWebhooksError) => void,
): SharedStore['due'] {
  /** Left alone until a process of its version leases it. */
  async function putOff(rows: readonly Row[], reserved: string, nowMs: number): Promise<void> {
    const until = numberValue(nowMs + NEWER_MS)
    await together(`UPDATE ${schema}.due SET held_until = ${until} WHERE ${isStill(rows, reserved)};`)
    for (const row of rows) report(newerRecord(text(row, 'key')))
  }

  /** Rows of `due` that say otherwise than their record, which decides: they are written anew, or go. */
  async function putRight(
    rows: readonly Row[],
    reserved: string,
    found: ReadonlyMap<string, Versioned>,
  ): Promise<void> {
    const changes = rows.flatMap((row) => {
      const { version, record } = (isNull(row, 'key') ? undefined : found.get(text(row, 'key'))) ?? {}
      if (record === undefined || dueRowOf(record) === undefined) return []
      return [{ key: text(row, 'key'), expected: version, before: record, after: record, payloads: [], admitted: [] }]
    })
    await write(changes, undefined)
    await together(`DELETE FROM ${schema}.due WHERE ${isStill(rows, reserved)};`)
  }

  return async ({ limit, nowMs, exclude }) => {
    const now = Math.floor(nowMs)
    const others =
      exclude.size === 0
        ? ''
        : `AND NOT EXISTS (SELECT FROM ${schema}.records x WHERE x.number = d.record AND x.key ${isOneOf([...exclude])})`
    const reserved = numberValue(now + RESERVED_MS)
    const sentMs = monotonicMs()
    const [, all = []] = await together(`${SOON_ON_DISK}
WITH found AS MATERIALIZED (
  SELECT d.at, d.record, d.first FROM ${schema}.due d
  WHERE d.at <= ${now} AND d.held_until <= ${now} AND ${isTime(nowMs)} ${others}
  ORDER BY d.at LIMIT ${limit} FOR UPDATE SKIP LOCKED
), reserved AS (
  UPDATE ${schema}.due d SET held_until = ${reserved} WHERE d.record = ANY (ARRAY(SELECT record FROM found))
)
SELECT times.now, times.next, found.at AS due_at, found.record AS due_record, ${RECORD_COLUMNS}, ${PAYLOAD_COLUMNS}
FROM (SELECT ${SERVER_NOW} AS now, CASE WHEN (SELECT count(*) FROM found) < ${limit} THEN least(
    (SELECT min(d.at) FROM ${schema}.due d WHERE d.at > ${now} ${others}),
    (SELECT min(d.held_until) FROM ${schema}.due d WHERE d.at <= ${now} AND d.held_until > ${now} ${others})
  ) END AS next) AS times
  LEFT JOIN (
    found LEFT JOIN ${schema}.records r ON r.number = found.record
    LEFT JOIN ${schema}.payloads p ON p.record = found.record AND p.id = found.first
  ) ON true ORDER BY found.at;`)
    const [times] = all
    hear(times, nowMs, sentMs)
    const rows = times === undefined || isNull(times, 'due_record') ? [] : all
    // Most have a record that this version knows.
    const isKnown = (row: Row): boolean => !isNull(row, 'number') && !isNewerRecord(textOf(row, 'state'))
    const known = rows.every(isKnown) ? rows : rows.filter(isKnown)
    const read = await recordsIn(known, true)
    const found = new Map<string, Versioned>()
    const payloads = new Map<string, Payload>()
    const [newer, astray]: [Row[], Row[]] = [[], []]
    for (const row of rows) {
      const key = isNull(row, 'key') ? '' : text(row, 'key')
      const versioned = read.get(key)
      const due = versioned && dueRowOf(versioned.record)
      if (versioned !== undefined && due?.at === integer(row, 'due_at') && due.heldUntil <= now) {
        found.set(key, versioned)
        if (!isNull(row, 'id')) payloads.set(key, payloadIn(row))
      } else if (versioned === undefined && !isNull(row, 'number')) newer.push(row)
      else astray.push(row)
    }
    if (newer.length > 0) await putOff(newer, reserved, nowMs)
    if (astray.length > 0) await putRight(astray, reserved, read)
    const next = times && integerOrNone(times, 'next')
    // What was locked, or put off meanwhile, is looked for again.
    const nextDueMs = rows.length >= limit ? nowMs : next
    return { keys: [...found.keys()], nextDueMs, found, payloads }
  }
}

/** Rows of `due`, if they are as they were reserved. */
function isStill(rows: readonly Row[], reserved: string): string {
  return `held_until = ${reserved} AND record IN (${rows.map((row) => text(row, 'due_record')).join(', ')})`
}
