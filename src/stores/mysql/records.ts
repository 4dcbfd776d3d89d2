/** Reads records from the tables, writes them if nothing has changed them, and finds them by their indexes. */
import type { MessagingWebhooksError } from '../../public/errors.ts'
import type { Payload, SharedStore, Versioned } from '../../inbox/record-store.ts'
import { isNewerRecord, joinRecord, NEWER } from '../../inbox/runtime/codec.ts'
import { storedPayload, type PayloadColumns, type StoredPayload } from '../stored.ts'
import { createReadRecords, type ReadRecords, type RecordRow } from '../sql/records.ts'
import type { Connections, Run } from './connections.ts'
import {
  bytesOrNone,
  digestOf,
  digestValue,
  integer,
  integerOrNone,
  isNull,
  isOneOf,
  numberValue,
  textOf,
  type Row,
} from './encoding.ts'
import type { Engine } from './engine.ts'
import { createWriting } from './writing.ts'

export const RECORD_COLUMNS = 'r.number, r.digest, r.version, r.state, r.reports, r.send, r.sent_at, r.overdue_at'
export const PAYLOAD_COLUMNS = 'p.record, p.id, p.admitted_at, p.event, p.raw, p.error'

export type Records = Pick<
  SharedStore,
  'read' | 'write' | 'overdue' | 'payloads' | 'payloadsOf' | 'overflowOf' | 'keyOfDeadLetter' | 'counts'
> & { readonly readRecords: ReadRecords }

/** `run` and `together`: the connection to use. */
export function createRecords(
  engine: Engine,
  report: (error: MessagingWebhooksError) => void,
  run: Run = engine.connections.run,
  together: Connections['together'] = engine.connections.together,
): Records {
  const { records, payloads, dead_letters: deadLetters } = engine.tables
  const write = createWriting(engine, together)
  const rowsOf = async (sql: string): Promise<readonly Row[]> => (await run(sql)).rows

  const readRecords = createReadRecords({
    async leftOf(number) {
      const left = await rowsOf(
        `SELECT ${PAYLOAD_COLUMNS} FROM ${payloads} p WHERE p.record = ${number} ORDER BY p.admitted_at, p.id`,
      )
      const [overflow] = await rowsOf(`SELECT r.overflow_of FROM ${records} r WHERE r.number = ${number}`)
      const isOverflow = overflow !== undefined && !isNull(overflow, 'overflow_of')
      return { payloads: left.map(payloadColumnsOf), of: isOverflow ? digestOf(overflow, 'overflow_of') : undefined }
    },
    write,
    report,
  })

  return {
    readRecords,
    write,
    async read(keys) {
      if (keys.length === 0) return new Map()
      const rows = await rowsOf(`SELECT ${RECORD_COLUMNS} FROM ${records} r WHERE ${isOneOf('r.digest', keys)}`)
      const found = new Map<string, Versioned | typeof NEWER>(await readRecords(rows.map(recordRowOf), true))
      for (const row of rows) if (isNewerRecord(textOf(row, 'state'))) found.set(digestOf(row, 'digest'), NEWER)
      return found
    },
    async overdue({ nowMs, limit }) {
      const now = numberValue(Math.floor(nowMs))
      const due = await rowsOf(
        `SELECT r.digest FROM ${records} r WHERE r.overdue_at <= ${now} ORDER BY r.overdue_at, r.number LIMIT ${limit}`,
      )
      const keys = due.map((row) => digestOf(row, 'digest'))
      if (keys.length >= limit) return { keys, nextMs: nowMs }
      const [next] = await rowsOf(`SELECT MIN(r.overdue_at) AS next FROM ${records} r WHERE r.overdue_at > ${now}`)
      return { keys, nextMs: next && integerOrNone(next, 'next') }
    },
    async payloads(places) {
      if (places.length === 0) return []
      const wanted = places.map(({ key, id }) => `(r.digest = ${digestValue(key)} AND p.id = ${digestValue(id)})`)
      const rows = await rowsOf(`
SELECT r.digest, ${PAYLOAD_COLUMNS} FROM ${records} r JOIN ${payloads} p ON p.record = r.number
WHERE ${isOneOf(
        'r.digest',
        places.map(({ key }) => key),
      )} AND (${wanted.join(' OR ')})`)
      const found = new Map(rows.map((row) => [`${digestOf(row, 'digest')} ${digestOf(row, 'id')}`, row]))
      return places.map(({ key, id }): Payload | undefined => {
        const row = found.get(`${key} ${id}`)
        return row && payloadIn(row)
      })
    },
    async payloadsOf(keys) {
      if (keys.length === 0) return []
      const rows = await rowsOf(`
SELECT r.digest, p.id FROM ${records} r JOIN ${payloads} p ON p.record = r.number WHERE ${isOneOf('r.digest', keys)}`)
      const ids = new Map<string, string[]>(keys.map((key) => [key, []]))
      for (const row of rows) ids.get(digestOf(row, 'digest'))?.push(digestOf(row, 'id'))
      return keys.map((key) => ids.get(key) ?? [])
    },
    async overflowOf(key) {
      const rows = await rowsOf(
        `SELECT r.digest FROM ${records} r WHERE r.overflow_of = ${digestValue(key)} ORDER BY r.number`,
      )
      return rows.map((row) => digestOf(row, 'digest'))
    },
    async keyOfDeadLetter(id) {
      // Someone may have typed it.
      if (!/^([0-9a-f]{2})+$/.test(id)) return undefined
      const [row] = await rowsOf(`
SELECT r.digest FROM ${deadLetters} d JOIN ${records} r ON r.number = d.record WHERE d.id = ${digestValue(id)}`)
      return row && digestOf(row, 'digest')
    },
    async counts() {
      const [row] = await rowsOf(`
SELECT (SELECT COALESCE(SUM(r.waiting), 0) FROM ${records} r WHERE r.due_at IS NOT NULL) AS unsettled,
  (SELECT COUNT(*) FROM ${deadLetters}) AS dead_letters`)
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'dead_letters') }
    },
  }
}

export function recordRowOf(row: Row): RecordRow {
  return {
    number: textOf(row, 'number'),
    key: digestOf(row, 'digest'),
    version: integer(row, 'version'),
    state: joinRecord(textOf(row, 'state'), isNull(row, 'reports') ? '' : textOf(row, 'reports')),
    send: isNull(row, 'send') ? undefined : textOf(row, 'send'),
    sentAtMs: integerOrNone(row, 'sent_at') ?? 0,
    overdueAtMs: integerOrNone(row, 'overdue_at'),
  }
}

function payloadColumnsOf(row: Row): PayloadColumns {
  return {
    id: digestOf(row, 'id'),
    admittedAtMs: integer(row, 'admitted_at'),
    record: bytesOrNone(row, 'event'),
    raw: bytesOrNone(row, 'raw'),
    error: bytesOrNone(row, 'error')?.toString('utf8'),
  }
}

export function payloadIn(row: Row): StoredPayload {
  return storedPayload(payloadColumnsOf(row))
}
