/** Records as bytes: JSON escapes lone surrogates and NUL, and no script looks into it. */
import type { EventRecord } from '../../inbox/record.ts'

export function encodeRecord(record: EventRecord): Buffer {
  return Buffer.from(JSON.stringify(record))
}

/** What `encodeRecord` wrote; only this package writes it. */
export function decodeRecord(bytes: Buffer): EventRecord {
  return JSON.parse(bytes.toString('utf8')) as EventRecord
}
