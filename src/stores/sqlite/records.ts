/** Reads, writes and finds records in the file. Every call is part of the transaction of its caller. */
import { encodeRecord, encodeSend } from '../codec.ts'
import type { Change, DueLookup, LocalEngine } from '../engine.ts'
import { dueMark, lastDay, overdueMark, type MessageRecord, type SendEntry } from '../../messages/record.ts'
import { isUnreadable } from '../../messages/replay.ts'
import { admittedIn, storedPayload, storedRecord, type StoredPayload } from '../stored.ts'
import type { Database } from './database.ts'
import { blob, cut, digestBytes, integer, recordBytes, text, textOrNone, type Row } from './encoding.ts'
import { sql, type Sql } from '../../runtime/sql.ts'

export const RECORD_COLUMNS = sql`number, lower(hex(key)) AS key, state, send, ${cut(sql`sent_at`)} AS sent_at, overdue_at`
/** The error as bytes: old versions of Node, and Deno, end a text at a NUL. */
export const CONTENT = sql`record, raw, CAST(error AS BLOB) AS error`
export const PAYLOAD_COLUMNS = sql`lower(hex(id)) AS id, ${cut(sql`admitted_at`)} AS admitted_at, ${CONTENT}`
export const PAYLOADS_OF = sql`SELECT ${PAYLOAD_COLUMNS} FROM payloads WHERE message = ? ORDER BY seq`

export const FIND = sql`SELECT ${RECORD_COLUMNS} FROM records WHERE key = ?`

/** Leaves out the send and its times, which most writes do not change. */
export const UPDATE = sql`
UPDATE records SET state = ?, waiting = ?, due = ?, worker = ?, forget_day = ?
WHERE number = ?
`

export const FIND_PAYLOAD = sql`
SELECT ${PAYLOAD_COLUMNS} FROM records JOIN payloads ON message = number WHERE key = ? AND id = ?
`

/**
 * The limit is a sum: SQLite prepares a statement again whenever the parameter of a bare LIMIT is bound (3.8 µs instead of
 * 1.0).
 */
export const FIND_DUE = sql`
SELECT lower(hex(key)) AS key, due FROM records WHERE due IS NOT NULL ORDER BY records.due LIMIT ? + 1
`

export const FIND_OVERDUE = sql`
SELECT lower(hex(key)) AS key, overdue_at FROM records
WHERE overdue_at IS NOT NULL ORDER BY overdue_at, number LIMIT ? + 1
`

export function createRecords({ db }: Database) {
  const prepare = (text: Sql) => db.prepare(text)
  const find = prepare(FIND)
  const insert = prepare(sql`
INSERT INTO records (key, state, waiting, due, worker, forget_day, send, sent_at, overdue_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const update = prepare(UPDATE)
  const updateSend = prepare(sql`UPDATE records SET send = ?, sent_at = ?, overdue_at = ? WHERE number = ?`)
  const deleteRecord = prepare(sql`DELETE FROM records WHERE number = ?`)
  const insertPayload = prepare(
    sql`INSERT INTO payloads (message, id, admitted_at, record, raw) VALUES (?, ?, ?, ?, ?)`,
  )
  const setError = prepare(sql`UPDATE payloads SET error = ? WHERE message = ? AND id = ?`)
  const deletePayload = prepare(sql`DELETE FROM payloads WHERE message = ? AND id = ?`)
  const deletePayloads = prepare(sql`DELETE FROM payloads WHERE message = ?`)
  const insertDead = prepare(
    sql`INSERT INTO dead_letters (id, message, died_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const deleteDead = prepare(sql`DELETE FROM dead_letters WHERE id = ?`)
  const deleteDeadOf = prepare(sql`DELETE FROM dead_letters WHERE message = ?`)
  const findPayload = prepare(FIND_PAYLOAD)
  const payloadIds = prepare(
    sql`SELECT lower(hex(id)) AS id FROM records JOIN payloads ON message = number WHERE key = ?`,
  )
  const findDue = prepare(FIND_DUE)
  const findOverdue = prepare(FIND_OVERDUE)
  const count = prepare(sql`
SELECT (SELECT coalesce(sum(waiting), 0) FROM records INDEXED BY records_due WHERE due IS NOT NULL) AS unsettled,
  (SELECT count(*) FROM dead_letters) AS dead_letters`)
  /** The record that the same transaction read last, so that a write need not look up its number. */
  let lastRead: { readonly record: MessageRecord; readonly number: number } | undefined

  function recordIn(row: Row): MessageRecord {
    const overdueAtMs = row['overdue_at'] === null ? undefined : integer(row, 'overdue_at')
    const send = textOrNone(row, 'send')
    const sentAtMs = send === undefined ? 0 : integer(row, 'sent_at')
    return storedRecord({ state: text(row, 'state'), send, sentAtMs, overdueAtMs }, text(row, 'key'))
  }

  function writePayloads(number: number, change: Change): void {
    const { payloads, before, after } = change
    for (const { event, admittedAtMs } of admittedIn(change)) {
      // An event may come again after its identity was forgotten, and before its payload is removed.
      if (before !== undefined && before.settled.length > 0) deletePayload.run(number, digestBytes(event.id))
      insertPayload.run(number, digestBytes(event.id), admittedAtMs, recordBytes(event.record), event.raw)
    }
    for (const one of payloads) {
      const { id } = one
      if (one.becomes === 'removed') deletePayload.run(number, digestBytes(id))
      if (one.becomes === 'dead') {
        setError.run(one.error, number, digestBytes(id))
        insertDead.run(digestBytes(id), number, after?.dead.find((entry) => entry.id === id)?.diedAtMs ?? 0)
      } else if (before?.dead.some((entry) => entry.id === id) === true) deleteDead.run(digestBytes(id))
    }
  }

  const operations = {
    read(key) {
      const row = find.get(digestBytes(key))
      if (row === undefined) return undefined
      const record = recordIn(row)
      lastRead = { record, number: integer(row, 'number') }
      return record
    },
    isFull: () => false,
    write(change) {
      const { key, after, before } = change
      let number = lastRead?.record === before ? lastRead?.number : undefined
      if (after === null) {
        if (number === undefined) return
        deleteRecord.run(number)
        deletePayloads.run(number)
        deleteDeadOf.run(number)
        return
      }
      const columns = columnsOf(after)
      if (number === undefined) {
        const inserted = insert.run(digestBytes(key), ...columns, ...sendColumns(after.send))
        number = Number(inserted.lastInsertRowid)
      } else {
        update.run(...columns, number)
        const isReplaced = isUnreadable(before)
        if (isReplaced) deleteDeadOf.run(number)
        if (isReplaced || after.send !== before?.send) updateSend.run(...sendColumns(after.send), number)
      }
      writePayloads(number, change)
      // The next command of the same message reads it again.
      lastRead = undefined
    },
    payloads: (places) =>
      places.map(({ key, id }) => {
        const row = findPayload.get(digestBytes(key), digestBytes(id))
        return row && payloadIn(row)
      }),
    payloadIds: (keys) => keys.map((key) => payloadIds.all(digestBytes(key)).map((row) => text(row, 'id'))),
    counts() {
      const row = count.get() ?? {}
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'dead_letters') }
    },
  } satisfies Partial<LocalEngine>

  return {
    operations,
    recordIn,
    due({ limit, nowMs, exclude }: DueLookup) {
      const keys: string[] = []
      for (const row of findDue.all(limit + exclude.size)) {
        const [key, due] = [text(row, 'key'), integer(row, 'due')]
        if (exclude.has(key)) continue
        if (due > nowMs || keys.length >= limit) return { keys, nextMs: due }
        keys.push(key)
      }
      return { keys, nextMs: undefined }
    },
    overdue({ nowMs, limit }: DueLookup) {
      const rows = findOverdue.all(limit)
      const keys = rows.filter((row) => integer(row, 'overdue_at') <= nowMs).map((row) => text(row, 'key'))
      if (keys.length >= limit) return { keys: keys.slice(0, limit), nextMs: nowMs }
      const next = rows.at(keys.length)
      return { keys, nextMs: next && integer(next, 'overdue_at') }
    },
  }
}

/** The values of UPDATE, in its order. */
function columnsOf(record: MessageRecord) {
  const { waiting, dead, lease, send } = record
  // Dead letters and undecided sends have indexes of their own.
  const isOpen = waiting.length + dead.length > 0 || send?.overdueAtMs !== undefined
  const worker = lease === undefined || lease.worker === '' ? null : Number(lease.worker)
  const forgetDay = isOpen ? null : lastDay(record)
  return [encodeRecord(record), waiting.length, dueMark(record) ?? null, worker, forgetDay] as const
}

function sendColumns(send: SendEntry | undefined) {
  if (send === undefined) return [null, null, null] as const
  return [encodeSend(send), Math.floor(send.sentAtMs), overdueMark({ send }) ?? null] as const
}

function payloadColumns(row: Row) {
  return {
    id: text(row, 'id'),
    admittedAtMs: integer(row, 'admitted_at'),
    record: blob(row, 'record'),
    raw: blob(row, 'raw'),
    error: blob(row, 'error')?.toString(),
  }
}

/** Reads a row of PAYLOAD_COLUMNS. */
export function payloadIn(row: Row): StoredPayload {
  return storedPayload(payloadColumns(row))
}
