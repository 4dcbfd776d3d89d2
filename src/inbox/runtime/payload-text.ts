/** A payload as text, for engines that store text only. */
import { isRecord } from '../../runtime/values.ts'
import { isEventRecord } from '../../messages/event-record.ts'
import type { Payload } from '../record-store.ts'

/** An event that is being admitted has no error yet. */
export function encodePayload({
  id,
  record,
  raw,
  error,
}: Omit<Payload, 'corrupt' | 'error'> & Partial<Payload>): string {
  return JSON.stringify({ id, record, raw: raw.toString('base64'), error })
}

/** Throws a `TypeError` if the text is not a payload. */
export function decodePayload(text: string): Payload {
  const parsed: unknown = JSON.parse(text)
  if (isRecord(parsed)) {
    const { id, record, raw, error } = parsed
    if (typeof id === 'string' && typeof raw === 'string' && isEventRecord(record))
      return { id, record, raw: Buffer.from(raw, 'base64'), error: typeof error === 'string' ? error : undefined }
  }
  throw new TypeError('Not a payload.')
}
