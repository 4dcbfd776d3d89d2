/** Records in the file: read, written and found by their indexes. Every call is part of a transaction of its caller. */
import { MessagingWebhooksError } from '../../errors.ts'
import { damagedRecord, readRecord } from '../../inbox/record.ts'
import type { Change, DueRequest, EventPlace, LocalStore, Payload } from '../../inbox/record-store.ts'
import { decodeRecord, decodeSend, encodeRecord, encodeSend, NEWER } from '../../inbox/runtime/codec.ts'
import type { NewEvent } from '../../inbox/store.ts'
import { dueMark, overdueMark } from '../../messages/marks.ts'
import { EMPTY_RECORD, type MessageRecord, type PayloadChange, type SendEntry } from '../../messages/record.ts'
import { restore, RESTORED_TOKENS } from '../../messages/restore.ts'
import type { Database } from './database.ts'
import { digestBytes, recordBytes } from './encoding.ts'
import { blob, cut, integer, prepare, text, type Row } from './statements.ts'

const DAY_MS = 86_400_000
/** A record of a later version of this package is put off for so long. */
const NEWER_MS = 60_000
const NO_BYTES = Buffer.alloc(0)

export const RECORD_COLUMNS = `number, lower(hex(key)) AS key, state, send, ${cut('sent_at')} AS sent_at, overdue_at`

export const FIND = /* sql */ `
SELECT ${RECORD_COLUMNS} FROM records WHERE key = :key
`

const INSERT = /* sql */ `
INSERT INTO records (key, state, waiting, due, worker, forget_day, of, send, sent_at, overdue_at)
VALUES (:key, :state, :waiting, :due, :worker, :forgetDay, :of, :send, :sentAt, :overdueAt)
`

/** Most writes change neither what was sent nor its times. */
export const UPDATE = /* sql */ `
UPDATE records SET state = :state, waiting = :waiting, due = :due, worker = :worker, forget_day = :forgetDay
WHERE number = :number
`

const UPDATE_SEND = /* sql */ `
UPDATE records SET send = :send, sent_at = :sentAt, overdue_at = :overdueAt WHERE number = :number
`

const DELETE = /* sql */ `
DELETE FROM records WHERE number = :number
`

const DELETE_PAYLOADS = /* sql */ `
DELETE FROM payloads WHERE message = :number
`

const INSERT_PAYLOAD = /* sql */ `
INSERT INTO payloads (message, id, admitted_at, record, raw) VALUES (:number, :id, :admittedAt, :record, :raw)
`

export const FIND_PAYLOAD = /* sql */ `
SELECT payloads.id, ${cut('admitted_at')} AS admitted_at, record, raw, error
FROM records JOIN payloads ON message = number WHERE key = :key AND id = :id
`

const PAYLOADS_OF = /* sql */ `
SELECT lower(hex(id)) AS id, ${cut('admitted_at')} AS admitted_at, record, raw, error
FROM payloads WHERE message = :number ORDER BY seq
`

const SET_ERROR = /* sql */ `
UPDATE payloads SET error = :error WHERE message = :number AND id = :id
`

const DELETE_PAYLOAD = /* sql */ `
DELETE FROM payloads WHERE message = :number AND id = :id
`

const INSERT_DEAD = /* sql */ `
INSERT INTO dead_letters (id, message, died_at) VALUES (:id, :number, :diedAt) ON CONFLICT DO NOTHING
`

const DELETE_DEAD = /* sql */ `
DELETE FROM dead_letters WHERE id = :id
`

/** The limit is a sum, because SQLite prepares a statement anew whenever the parameter of a bare LIMIT is bound (3.8 µs, not 1.0). */
export const FIND_DUE = /* sql */ `
SELECT number, lower(hex(key)) AS key, due, substr(state, 1, 3) AS form FROM records
WHERE due IS NOT NULL ORDER BY records.due LIMIT :limit + 0
`

const PUT_OFF = /* sql */ `
UPDATE records SET due = :due WHERE number = :number
`

export const FIND_OVERDUE = /* sql */ `
SELECT lower(hex(key)) AS key FROM records WHERE overdue_at <= :now ORDER BY overdue_at, number LIMIT :limit + 0
`

const NEXT_OVERDUE = /* sql */ `
SELECT ${cut('min(overdue_at)')} AS next FROM records WHERE overdue_at > :now
`

const OVERFLOW = /* sql */ `
SELECT lower(hex(key)) AS key FROM records WHERE of = :key
`

const DELETE_DEAD_OF = /* sql */ `
DELETE FROM dead_letters WHERE message = :number
`

export const KEY_OF_DEAD = /* sql */ `
SELECT lower(hex(key)) AS key FROM dead_letters JOIN records ON number = message WHERE dead_letters.id = :id
`

const COUNTS = /* sql */ `
SELECT (SELECT coalesce(sum(waiting), 0) FROM records INDEXED BY records_due WHERE due IS NOT NULL) AS unsettled,
  (SELECT count(*) FROM dead_letters) AS deadLetters
`

interface Records extends Omit<
  LocalStore,
  'due' | 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords' | 'aged' | 'close'
> {
  due(request: DueRequest): { readonly keys: readonly string[]; readonly nextDueMs: number | undefined }
  /** Reads what a row of RECORD_COLUMNS says. */
  recordIn(row: Row): MessageRecord
}

/** `report` is told of what is corrupt, or newer. */
export function createRecords({ db }: Database, report: (error: MessagingWebhooksError) => void): Records {
  const find = prepare(db, FIND)
  const insert = prepare(db, INSERT)
  const update = prepare(db, UPDATE)
  const updateSend = prepare(db, UPDATE_SEND)
  const deleteRecord = prepare(db, DELETE)
  const deletePayloads = prepare(db, DELETE_PAYLOADS)
  const insertPayload = prepare(db, INSERT_PAYLOAD)
  const findPayload = prepare(db, FIND_PAYLOAD)
  const payloadsOf = prepare(db, PAYLOADS_OF)
  const setError = prepare(db, SET_ERROR)
  const deletePayload = prepare(db, DELETE_PAYLOAD)
  const insertDead = prepare(db, INSERT_DEAD)
  const deleteDead = prepare(db, DELETE_DEAD)
  const deleteDeadOf = prepare(db, DELETE_DEAD_OF)
  const findDue = prepare(db, FIND_DUE)
  const putOff = prepare(db, PUT_OFF)
  const findOverdue = prepare(db, FIND_OVERDUE)
  const nextOverdue = prepare(db, NEXT_OVERDUE)
  const overflow = prepare(db, OVERFLOW)
  const keyOfDead = prepare(db, KEY_OF_DEAD)
  const counts = prepare(db, COUNTS)
  /** What is written is mostly what was read last. */
  let last: { readonly key: string; readonly number: number | undefined } | undefined

  function numberOf(key: string): number | undefined {
    if (last?.key === key) return last.number
    const row = find.get({ key: digestBytes(key) })
    return row && integer(row, 'number')
  }

  function recordIn(row: Row): MessageRecord {
    const decoded = decodeRecord(text(row, 'state'))
    if (decoded === NEWER)
      throw new MessagingWebhooksError('store_newer', `It is the record of message ${text(row, 'key')}.`)
    const send = sendIn(row)
    const record = decoded ?? restoredFrom(row)
    return send === undefined ? record : { ...record, send }
  }

  /** What cannot be read is repaired at once, so that it is reported once. */
  function repair(row: Row, record: MessageRecord): void {
    const number = integer(row, 'number')
    if (decodeRecord(text(row, 'state')) === undefined) {
      reportCorrupt('records.state', row)
      deleteDeadOf.run({ number })
      update.run({ number, ...columnsOf(record) })
    }
    if (typeof row['send'] !== 'string' || record.send !== undefined) return
    reportCorrupt('records.send', row)
    updateSend.run({ number, ...sendColumns(undefined) })
  }

  function reportCorrupt(place: string, row: Row): void {
    report(new MessagingWebhooksError('state_damaged', `It is ${place} of message ${text(row, 'key')}.`))
  }

  function restoredFrom(row: Row): MessageRecord {
    const left = payloadsOf.all({ number: integer(row, 'number') })
    return restore(
      left.map((each) => ({
        id: text(each, 'id'),
        admittedAtMs: integer(each, 'admitted_at'),
        record: readRecord(blob(each, 'record')),
      })),
    )
  }

  function sendIn(row: Row): SendEntry | undefined {
    if (row['send'] === null || row['send'] === undefined) return undefined
    const overdueAtMs = typeof row['overdue_at'] === 'number' ? row['overdue_at'] : undefined
    return decodeSend(text(row, 'send'), { sentAtMs: integer(row, 'sent_at'), overdueAtMs })
  }

  function changePayload(number: number, change: PayloadChange, diedAt: number | undefined): void {
    const id = digestBytes(change.id)
    if (change.becomes === 'dead') {
      setError.run({ number, id, error: change.error })
      insertDead.run({ id, number, diedAt: diedAt ?? 0 })
      return
    }
    if (change.becomes === 'removed') deletePayload.run({ number, id })
    deleteDead.run({ id })
  }

  function writePayloads(number: number, { payloads, admitted, before, after }: Change): void {
    if (admitted !== undefined)
      storePayload(
        number,
        admitted,
        after?.waiting.find(({ id }) => id === admitted.id),
      )
    for (const change of payloads) {
      // Of an event that was not dead, being settled changes nothing that is stored beside the record.
      if (change.becomes === 'settled' && before?.dead.some(({ id }) => id === change.id) !== true) continue
      changePayload(number, change, after?.dead.find(({ id }) => id === change.id)?.diedAtMs)
    }
  }

  function storePayload(number: number, event: NewEvent, entry: { readonly admittedAtMs: number } | undefined): void {
    const { id, record, raw } = event
    const admittedAt = Math.floor(entry?.admittedAtMs ?? record.receivedAtMs)
    insertPayload.run({ number, id: digestBytes(id), admittedAt, record: recordBytes(record), raw })
  }

  return {
    recordIn,
    read(key) {
      const row = find.get({ key: digestBytes(key) })
      last = { key, number: row && integer(row, 'number') }
      if (row === undefined) return undefined
      const record = recordIn(row)
      if (!isWhole(row, record)) repair(row, record)
      return record
    },
    hasRoom: () => true,
    write(change) {
      const { key, after, before } = change
      let number = numberOf(key)
      last = undefined
      if (after === undefined) {
        if (number === undefined) return
        deleteRecord.run({ number })
        deletePayloads.run({ number })
        return
      }
      const columns = columnsOf(after)
      if (number === undefined) {
        const of = after.of === undefined ? null : digestBytes(after.of)
        const inserted = insert.run({ key: digestBytes(key), ...columns, ...sendColumns(after.send), of })
        number = Number(inserted.lastInsertRowid)
      } else {
        update.run({ number, ...columns })
        if (after.send !== before?.send) updateSend.run({ number, ...sendColumns(after.send) })
      }
      writePayloads(number, change)
    },
    due({ limit, nowMs, exclude }: DueRequest) {
      const keys: string[] = []
      for (const row of findDue.all({ limit: limit + exclude.size + 1 })) {
        const [key, due] = [text(row, 'key'), integer(row, 'due')]
        if (exclude.has(key)) continue
        if (due > nowMs || keys.length >= limit) return { keys, nextDueMs: due }
        if (text(row, 'form') === FORM || !isNewer(key)) keys.push(key)
        else putOffNewer(row, nowMs)
      }
      return { keys, nextDueMs: undefined }
    },
    overdue({ nowMs, limit }) {
      const now = Math.floor(nowMs)
      const keys = findOverdue.all({ now, limit }).map((row) => text(row, 'key'))
      const next = nextOverdue.get({ now })?.['next']
      return { keys, nextMs: keys.length >= limit ? nowMs : typeof next === 'number' ? next : undefined }
    },
    payloads: (places: readonly EventPlace[]) =>
      places.map(({ key, id }) => {
        const row = findPayload.get({ key: digestBytes(key), id: digestBytes(id) })
        return row && payloadIn(row, id)
      }),
    payloadsOf: (keys) =>
      keys.map((key) => {
        const number = numberOf(key)
        return number === undefined ? [] : payloadsOf.all({ number }).map((row) => text(row, 'id'))
      }),
    overflowOf: (key) => overflow.all({ key: digestBytes(key) }).map((row) => text(row, 'key')),
    keyOfDeadLetter(id) {
      const row = keyOfDead.get({ id: digestBytes(id) })
      return row && text(row, 'key')
    },
    counts() {
      const row = counts.get()
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'deadLetters') }
    },
  }

  function isNewer(key: string): boolean {
    const row = find.get({ key: digestBytes(key) })
    return row !== undefined && decodeRecord(text(row, 'state')) === NEWER
  }

  /** It is left alone until a process of its version leases it. */
  function putOffNewer(row: Row, nowMs: number): void {
    putOff.run({ number: integer(row, 'number'), due: Math.floor(nowMs) + NEWER_MS })
    report(new MessagingWebhooksError('store_newer', `It is the record of message ${text(row, 'key')}.`))
  }
}

/** How the text of a record of this version begins. */
const FORM = encodeRecord(EMPTY_RECORD).slice(0, 3)

/** Whether all of a row could be read. A restored record has no other sign than its tokens. */
function isWhole(row: Row, { send, tokens }: MessageRecord): boolean {
  return tokens !== RESTORED_TOKENS && (send !== undefined || typeof row['send'] !== 'string')
}

function columnsOf(record: MessageRecord) {
  const { waiting, lease } = record
  return {
    state: encodeRecord(record),
    waiting: waiting.length,
    due: dueMark(record) ?? null,
    worker: lease === undefined || lease.worker === '' ? null : Number(lease.worker),
    forgetDay: forgetDayOf(record),
  }
}

function sendColumns(send: SendEntry | undefined) {
  if (send === undefined) return { send: null, sentAt: null, overdueAt: null }
  return { send: encodeSend(send), sentAt: Math.floor(send.sentAtMs), overdueAt: overdueMark({ send }) ?? null }
}

/** Dead letters and sends that are not decided are found by indexes of their own. */
function forgetDayOf({ waiting, dead, settled, send }: MessageRecord): number | null {
  if (waiting.length + dead.length > 0 || send?.overdueAtMs !== undefined) return null
  return Math.floor(Math.max(settled.at(-1)?.endedAtMs ?? 0, send?.sentAtMs ?? 0) / DAY_MS)
}

export function payloadIn(row: Row, id: string): Payload {
  const json = blob(row, 'record')
  const raw = blob(row, 'raw')
  const record = readRecord(json)
  const error = typeof row['error'] === 'string' ? row['error'] : undefined
  if (record !== undefined && raw !== undefined) return { id, record, raw, error }
  const corrupt = record === undefined ? 'payloads.record' : 'payloads.raw'
  return { id, record: damagedRecord(json, integer(row, 'admitted_at')), raw: raw ?? NO_BYTES, error, corrupt }
}
