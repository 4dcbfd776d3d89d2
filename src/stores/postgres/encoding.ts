/** Records and texts as bytes: JSON escapes lone surrogates and NUL, and bytea has no opinion on what is text. */
import type { EventRecord } from '../../inbox/record.ts'

export function encodeRecord(record: EventRecord): Buffer {
  return Buffer.from(JSON.stringify(record))
}

export function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}
