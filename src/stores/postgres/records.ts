/** Reads records from the tables, writes them if no one has changed them, and finds them by their indexes. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { EventPlace, Payload, SharedStore, Versioned } from '../../inbox/record-store.ts'
import { isNewerRecord, joinRecord, NEWER } from '../../inbox/runtime/codec.ts'
import { storedPayload, type PayloadColumns, type StoredPayload } from '../stored.ts'
import { createReadRecords, type ReadRecords, type RecordRow } from '../sql/records.ts'
import {
  bytesOrNone,
  digestsValue,
  digestValue,
  integer,
  integerOrNone,
  isNull,
  numberValue,
  rowsQuery,
  text,
  textOf,
  type Row,
} from './encoding.ts'
import { parameter } from './plans.ts'
import type { Engine, Together } from './engine.ts'
import { createWriting } from './writing.ts'

export const RECORD_COLUMNS = `r.number, encode(r.key, 'hex') AS key, r.version, encode(r.state, 'escape') AS state,
  encode(r.reports, 'escape') AS reports,
  encode(r.send, 'escape') AS send, r.sent_at, r.overdue_at`

export const PAYLOAD_COLUMNS = `p.record, encode(p.id, 'hex') AS id, p.admitted_at, encode(p.event, 'escape') AS event,
  encode(p.raw, 'escape') AS raw, encode(p.error, 'escape') AS error`

export type Records = Pick<
  SharedStore,
  'read' | 'write' | 'overdue' | 'payloads' | 'payloadsOf' | 'overflowOf' | 'keyOfDeadLetter' | 'counts'
> & {
  readonly readRecords: ReadRecords
  /** Like `readRecords`, for rows of RECORD_COLUMNS. */
  readonly recordsIn: (rows: readonly Row[], repairs: boolean) => ReturnType<ReadRecords>
}

/** `together`: the connection to use. */
export function createRecords(
  engine: Engine,
  report: (error: MessagingWebhooksError) => void,
  together: Together = engine.together,
): Records {
  const { schema } = engine
  const write = createWriting(engine, together)

  async function rowsOf(statement: string): Promise<readonly Row[]> {
    return (await together(statement))[0] ?? []
  }

  const readRecords = createReadRecords({
    async leftOf(number) {
      const [payloads = [], [overflow] = []] = await together(`
SELECT ${PAYLOAD_COLUMNS} FROM ${schema}.payloads p WHERE p.record = ${number} ORDER BY p.admitted_at, p.id;
SELECT encode(r.of, 'hex') AS of FROM ${schema}.records r WHERE r.number = ${number} AND r.of IS NOT NULL;`)
      return { payloads: payloads.map(payloadColumnsOf), of: overflow && text(overflow, 'of') }
    },
    write,
    report,
  })
  const recordsIn: Records['recordsIn'] = (rows, repairs) => readRecords(rows.map(recordRowOf), repairs)

  return {
    readRecords,
    recordsIn,
    write,
    async read(keys) {
      if (keys.length === 0) return new Map()
      const rows = await rowsOf(`SELECT ${RECORD_COLUMNS} FROM ${schema}.records r WHERE r.key ${isOneOf(keys)};`)
      const found = new Map<string, Versioned | typeof NEWER>(await recordsIn(rows, true))
      for (const row of rows) if (isNewerRecord(textOf(row, 'state'))) found.set(text(row, 'key'), NEWER)
      return found
    },
    async overdue({ nowMs, limit }) {
      const now = numberValue(Math.floor(nowMs))
      const [rows = [], [times] = []] = await together(`
SELECT encode(r.key, 'hex') AS key FROM ${schema}.records r WHERE r.overdue_at <= ${now}
ORDER BY r.overdue_at, r.number LIMIT ${limit};
SELECT min(r.overdue_at) AS next FROM ${schema}.records r WHERE r.overdue_at > ${now};`)
      const keys = rows.map((row) => text(row, 'key'))
      return { keys, nextMs: keys.length >= limit ? nowMs : times && integerOrNone(times, 'next') }
    },
    async payloads(places: readonly EventPlace[]) {
      if (places.length === 0) return []
      const wanted = rowsQuery([
        { name: 'place', type: 'integer', values: places.map((_, place) => String(place)) },
        { name: 'key', type: 'digest', values: places.map(({ key }) => key) },
        { name: 'id', type: 'digest', values: places.map(({ id }) => id) },
      ])
      const rows = await rowsOf(`
SELECT u.place, ${PAYLOAD_COLUMNS} FROM (${wanted}) u JOIN ${schema}.records r ON r.key = u.key
  JOIN ${schema}.payloads p ON p.record = r.number AND p.id = u.id;`)
      const payloads: (Payload | undefined)[] = places.map(() => undefined)
      for (const row of rows) payloads[integer(row, 'place')] = payloadIn(row)
      return payloads
    },
    async payloadsOf(keys) {
      if (keys.length === 0) return []
      const rows = await rowsOf(`
SELECT encode(r.key, 'hex') AS key, encode(p.id, 'hex') AS id FROM ${schema}.records r
  JOIN ${schema}.payloads p ON p.record = r.number WHERE r.key ${isOneOf(keys)};`)
      const ids = new Map<string, string[]>(keys.map((key) => [key, []]))
      for (const row of rows) ids.get(text(row, 'key'))?.push(text(row, 'id'))
      return keys.map((key) => ids.get(key) ?? [])
    },
    async overflowOf(key) {
      const rows = await rowsOf(
        `SELECT encode(r.key, 'hex') AS key FROM ${schema}.records r WHERE r.of = ${digestValue(key)} ORDER BY r.number;`,
      )
      return rows.map((row) => text(row, 'key'))
    },
    async keyOfDeadLetter(id) {
      // The id may be typed by hand.
      if (!/^([0-9a-f]{2})+$/.test(id)) return undefined
      const [row] = await rowsOf(`
SELECT encode(r.key, 'hex') AS key FROM ${schema}.dead_letters d JOIN ${schema}.records r ON r.number = d.record
WHERE d.id = ${digestValue(id)};`)
      return row && text(row, 'key')
    },
    async counts() {
      const [row] = await rowsOf(`
SELECT (SELECT coalesce(sum(waiting), 0) FROM ${schema}.due) AS unsettled,
  (SELECT count(*) FROM ${schema}.dead_letters) AS dead_letters;`)
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'dead_letters') }
    },
  }
}

export function recordRowOf(row: Row): RecordRow {
  return {
    number: text(row, 'number'),
    key: text(row, 'key'),
    version: integer(row, 'version'),
    state: joinRecord(textOf(row, 'state'), textOf(row, 'reports')),
    send: isNull(row, 'send') ? undefined : textOf(row, 'send'),
    sentAtMs: integerOrNone(row, 'sent_at') ?? 0,
    overdueAtMs: integerOrNone(row, 'overdue_at'),
  }
}

function payloadColumnsOf(row: Row): PayloadColumns {
  return {
    id: text(row, 'id'),
    admittedAtMs: integer(row, 'admitted_at'),
    record: bytesOrNone(row, 'event'),
    raw: bytesOrNone(row, 'raw'),
    error: bytesOrNone(row, 'error')?.toString('utf8'),
  }
}

export function payloadIn(row: Row): StoredPayload {
  return storedPayload(payloadColumnsOf(row))
}

export function isOneOf(digests: readonly string[]): string {
  const [digest] = digests
  return digest !== undefined && digests.length === 1
    ? `= ${parameter(digestValue(digest), 'bytea')}`
    : `= ANY (${parameter(digestsValue(digests), 'bytea[]')})`
}
