/** Records as JSON: it escapes lone surrogates and control characters, and no script looks into it. */
import { damagedRecord, readRecord, type EventRecord } from '../../inbox/record.ts'

export function encodeRecord(record: EventRecord): string {
  return JSON.stringify(record)
}

const LINE_FEED = 10

interface Payload {
  /** Undefined where it cannot be read. */
  readonly record: EventRecord | undefined
  readonly raw: Buffer
  /** What stands where the record should. */
  readonly json: Buffer
}

/** What a script stores of an event: its record, a line feed, its bytes. Without a line feed nobody knows which is which. */
export function decodePayload(payload: Buffer): Payload {
  const end = payload.indexOf(LINE_FEED)
  if (end === -1) return { record: undefined, raw: payload, json: payload }
  const json = payload.subarray(0, end)
  return { record: readRecord(json), raw: payload.subarray(end + 1), json }
}

/** The same of a dead letter, which is shown in any case. */
export function decodeDead(payload: Buffer, diedAtMs: number): { readonly record: EventRecord; readonly raw: Buffer } {
  const { record, raw, json } = decodePayload(payload)
  return { record: record ?? damagedRecord(json, diedAtMs), raw }
}
