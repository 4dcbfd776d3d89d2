/** Records in the tables: read, written where nobody has changed them, and found by their indexes. */
import { monotonicMs } from '../../clock.ts'
import { MessagingWebhooksError } from '../../errors.ts'
import { damagedRecord, readRecord } from '../../inbox/record.ts'
import type { DueRequest, EventPlace, Payload, SharedStore, Versioned } from '../../inbox/record-store.ts'
import { decodeRecord, decodeSend, NEWER } from '../../inbox/runtime/codec.ts'
import type { MessageRecord, SendEntry } from '../../messages/record.ts'
import { restore } from '../../messages/restore.ts'
import {
  bytes,
  bytesOrNone,
  digestValue,
  integer,
  integerOrNone,
  isNull,
  numberValue,
  text,
  valuesList,
  type Row,
} from './encoding.ts'
import type { Engine, Together } from './engine.ts'
import { createWriting } from './writing.ts'

/** Who finds something due has it for so long alone. */
const RESERVED_MS = 5_000
/** A record of a later version of this package is put off for so long. */
const NEWER_MS = 60_000
const NO_BYTES = Buffer.alloc(0)

export const RECORD_COLUMNS = `r.number, encode(r.key, 'hex') AS key, r.version, encode(r.state, 'hex') AS state,
  encode(r.send, 'hex') AS send, r.sent_at, r.overdue_at`

export const PAYLOAD_COLUMNS = `p.record, encode(p.id, 'hex') AS id, p.admitted_at, encode(p.event, 'hex') AS event,
  encode(p.raw, 'hex') AS raw, encode(p.error, 'hex') AS error`

type Records = Pick<
  SharedStore,
  'read' | 'write' | 'due' | 'overdue' | 'payloads' | 'payloadsOf' | 'overflowOf' | 'keyOfDeadLetter' | 'counts'
> & {
  /**
   * What rows of RECORD_COLUMNS say. What cannot be read is made anew of the payloads that are left; to repair it is to write that,
   * and report it.
   */
  recordsIn(rows: readonly Row[], repairs: boolean): Promise<ReadonlyMap<string, Versioned>>
}

/** `together`: on which connection. */
export function createRecords(
  engine: Engine,
  report: (error: MessagingWebhooksError) => void,
  together: Together = engine.together,
): Records {
  const { sql, isTime, hear } = engine
  const write = createWriting(engine, together)

  async function rowsOf(statement: string): Promise<readonly Row[]> {
    return (await together(sql(statement)))[0] ?? []
  }

  async function recordsIn(rows: readonly Row[], repairs: boolean): Promise<ReadonlyMap<string, Versioned>> {
    const records = new Map<string, Versioned>()
    for (const row of rows) {
      const key = text(row, 'key')
      const decoded = decodeRecord(stateIn(row))
      if (decoded === NEWER) throw newer(key)
      const send = sendIn(row)
      const version = integer(row, 'version')
      if (decoded !== undefined && (send !== undefined || isNull(row, 'send')))
        records.set(key, { version, record: send === undefined ? decoded : { ...decoded, send } })
      else records.set(key, await restored(row, { decoded, send, repairs }))
    }
    return records
  }

  async function restored(
    row: Row,
    { decoded, send, repairs }: { decoded: MessageRecord | undefined; send: SendEntry | undefined; repairs: boolean },
  ): Promise<Versioned> {
    const key = text(row, 'key')
    const state = decoded ?? restore(await leftOf(integer(row, 'number')))
    const record = send === undefined ? state : { ...state, send }
    const version = integer(row, 'version')
    if (!repairs) return { version, record }
    // Written at once, so that it is reported once: by the process that has written it.
    const part = decoded === undefined ? 'state' : 'send'
    const repair = {
      key,
      expected: version,
      before: record,
      after: record,
      payloads: [],
      admitted: [],
      repairs: part,
    } as const
    const [written] = await write([repair], undefined)
    if (written === undefined) return { version, record }
    report(new MessagingWebhooksError('state_damaged', `It is records.${part} of message ${key}.`))
    return { version: written, record }
  }

  async function leftOf(number: number) {
    const rows = await rowsOf(
      `SELECT ${PAYLOAD_COLUMNS} FROM {schema}.payloads p WHERE p.record = ${number} ORDER BY p.admitted_at, p.id;`,
    )
    return rows.map((row) => ({
      id: text(row, 'id'),
      admittedAtMs: integer(row, 'admitted_at'),
      record: readRecord(bytesOrNone(row, 'event')),
    }))
  }

  function newer(key: string): MessagingWebhooksError {
    return new MessagingWebhooksError('store_newer', `It is the record of message ${key}.`)
  }

  /** Left alone until a process of its version leases it. */
  async function putOff(rows: readonly Row[], nowMs: number): Promise<void> {
    const numbers = rows.map((row) => integer(row, 'number')).join(', ')
    const later = numberValue(nowMs + NEWER_MS)
    await rowsOf(`UPDATE {schema}.due SET at = ${later} WHERE record IN (${numbers});`)
    for (const row of rows) report(newer(text(row, 'key')))
  }

  return {
    recordsIn,
    write,
    async read(keys) {
      if (keys.length === 0) return new Map()
      return recordsIn(
        await rowsOf(`SELECT ${RECORD_COLUMNS} FROM {schema}.records r WHERE r.key ${isOneOf(keys)};`),
        true,
      )
    },
    async due({ limit, nowMs, exclude }: DueRequest) {
      const now = numberValue(Math.floor(nowMs))
      const others =
        exclude.size === 0
          ? ''
          : `AND NOT EXISTS (SELECT FROM {schema}.records x WHERE x.number = d.record AND x.key ${isOneOf([...exclude])})`
      const sentMs = monotonicMs()
      const all = await rowsOf(`
WITH found AS MATERIALIZED (
  SELECT d.record, d.at FROM {schema}.due d WHERE d.at <= ${now} AND ${isTime(nowMs)} ${others}
  ORDER BY d.at LIMIT ${limit} FOR UPDATE SKIP LOCKED
), reserved AS (
  UPDATE {schema}.due d SET at = ${now} + ${RESERVED_MS} FROM found WHERE d.record = found.record
)
SELECT times.now, times.next, ${RECORD_COLUMNS}
FROM (SELECT {now} AS now, (SELECT min(d.at) FROM {schema}.due d WHERE d.at > ${now} ${others}) AS next) AS times
  LEFT JOIN (found JOIN {schema}.records r ON r.number = found.record) ON true ORDER BY found.at, r.number;`)
      const [times] = all
      const rows = all.filter((row) => !isNull(row, 'number'))
      hear(times, nowMs, sentMs)
      const isNewer = (row: Row): boolean => decodeRecord(stateIn(row)) === NEWER
      const unknown = rows.filter(isNewer)
      if (unknown.length > 0) await putOff(unknown, nowMs)
      const found = await recordsIn(unknown.length === 0 ? rows : rows.filter((row) => !isNewer(row)), true)
      const next = times && integerOrNone(times, 'next')
      // What was locked, or put off meanwhile, is looked for again.
      const nextDueMs = rows.length >= limit ? nowMs : next
      return { keys: [...found.keys()], nextDueMs, found }
    },
    async overdue({ nowMs, limit }) {
      const now = numberValue(Math.floor(nowMs))
      const [rows = [], [times] = []] = await together(
        sql(`
SELECT encode(r.key, 'hex') AS key FROM {schema}.records r WHERE r.overdue_at <= ${now}
ORDER BY r.overdue_at, r.number LIMIT ${limit};
SELECT min(r.overdue_at) AS next FROM {schema}.records r WHERE r.overdue_at > ${now};`),
      )
      const keys = rows.map((row) => text(row, 'key'))
      return { keys, nextMs: keys.length >= limit ? nowMs : times && integerOrNone(times, 'next') }
    },
    async payloads(places: readonly EventPlace[]) {
      if (places.length === 0) return []
      const wanted = places.map(({ key, id }, place) => [String(place), digestValue(key), digestValue(id)])
      const rows = await rowsOf(`
WITH u (place, key, id) AS NOT MATERIALIZED (${valuesList(wanted, ['integer', 'bytea', 'bytea'])})
SELECT u.place, ${PAYLOAD_COLUMNS} FROM u JOIN {schema}.records r ON r.key = u.key
  JOIN {schema}.payloads p ON p.record = r.number AND p.id = u.id;`)
      const payloads: (Payload | undefined)[] = places.map(() => undefined)
      for (const row of rows) payloads[integer(row, 'place')] = payloadIn(row)
      return payloads
    },
    async payloadsOf(keys) {
      if (keys.length === 0) return []
      const rows = await rowsOf(`
SELECT encode(r.key, 'hex') AS key, encode(p.id, 'hex') AS id FROM {schema}.records r
  JOIN {schema}.payloads p ON p.record = r.number WHERE r.key ${isOneOf(keys)};`)
      const ids = new Map<string, string[]>(keys.map((key) => [key, []]))
      for (const row of rows) ids.get(text(row, 'key'))?.push(text(row, 'id'))
      return keys.map((key) => ids.get(key) ?? [])
    },
    async overflowOf(key) {
      const rows = await rowsOf(
        `SELECT encode(r.key, 'hex') AS key FROM {schema}.records r WHERE r.of = ${digestValue(key)} ORDER BY r.number;`,
      )
      return rows.map((row) => text(row, 'key'))
    },
    async keyOfDeadLetter(id) {
      // Somebody may have typed it.
      if (!/^([0-9a-f]{2})+$/.test(id)) return undefined
      const [row] = await rowsOf(`
SELECT encode(r.key, 'hex') AS key FROM {schema}.dead_letters d JOIN {schema}.records r ON r.number = d.record
WHERE d.id = ${digestValue(id)};`)
      return row && text(row, 'key')
    },
    async counts() {
      const [row] = await rowsOf(`
SELECT (SELECT coalesce(sum(waiting), 0) FROM {schema}.due) AS unsettled,
  (SELECT count(*) FROM {schema}.dead_letters) AS dead_letters;`)
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'dead_letters') }
    },
  }
}

function sendIn(row: Row): SendEntry | undefined {
  if (isNull(row, 'send')) return undefined
  const times = { sentAtMs: integer(row, 'sent_at'), overdueAtMs: integerOrNone(row, 'overdue_at') }
  return decodeSend(bytes(row, 'send').toString('utf8'), times)
}

function stateIn(row: Row): string {
  return bytes(row, 'state').toString('utf8')
}

export function payloadIn(row: Row): Payload & { readonly atMs: number } {
  const id = text(row, 'id')
  const atMs = integer(row, 'admitted_at')
  const json = bytesOrNone(row, 'event')
  const raw = bytesOrNone(row, 'raw')
  const record = readRecord(json)
  const error = bytesOrNone(row, 'error')?.toString('utf8')
  if (record !== undefined && raw !== undefined) return { id, atMs, record, raw, error }
  const corrupt = record === undefined ? 'payloads.event' : 'payloads.raw'
  return { id, atMs, record: damagedRecord(json, atMs), raw: raw ?? NO_BYTES, error, corrupt }
}

function isOneOf(digests: readonly string[]): string {
  const values = digests.map(digestValue)
  return values.length === 1 ? `= ${values.join()}` : `= ANY (ARRAY[${values.join(', ')}]::bytea[])`
}
