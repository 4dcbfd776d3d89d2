/** Records and texts as bytes: JSON escapes lone surrogates and NUL, and bytea has no opinion on what is text. */
import type { EventRecord } from '../../inbox/record.ts'

export function encodeRecord(record: EventRecord): Buffer {
  return Buffer.from(JSON.stringify(record))
}

/** What `encodeRecord` wrote; only this package writes the column. */
export function decodeRecord(bytes: Buffer): EventRecord {
  return JSON.parse(bytes.toString('utf8')) as EventRecord
}

export function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}
