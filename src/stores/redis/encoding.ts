/** Records as JSON: it escapes lone surrogates and control characters, and no script looks into it. */
import type { EventRecord } from '../../inbox/record.ts'

export function encodeRecord(record: EventRecord): string {
  return JSON.stringify(record)
}

/** What `encodeRecord` wrote; only this package writes it. */
export function decodeRecord(bytes: Buffer): EventRecord {
  return JSON.parse(bytes.toString('utf8')) as EventRecord
}

const LINE_FEED = 10

/** What a script stores of an event: its record, a line feed, its bytes. */
export function decodePayload(payload: Buffer): { readonly record: EventRecord; readonly raw: Buffer } {
  const end = payload.indexOf(LINE_FEED)
  return { record: decodeRecord(payload.subarray(0, end)), raw: payload.subarray(end + 1) }
}
