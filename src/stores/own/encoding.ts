/** The texts that a store on the user's database keeps: of a record with its send, and of a payload. */
import { isRecord } from '../../runtime/values.ts'
import { dueMark, overdueMark, type MessageRecord } from '../../messages/record.ts'
import type { Payload } from '../../messages/views.ts'
import { encodeRecord, encodeSend } from '../codec.ts'
import { storedPayload, storedRecord, type StoredPayload } from '../stored.ts'
import type { PayloadRow, RecordRow, StoredRecord } from './record-store.ts'

export function rowOf(record: MessageRecord, version: string): RecordRow {
  const { send, waiting, dead } = record
  const sent = send && { send: encodeSend(send), sentAtMs: send.sentAtMs, overdueAtMs: send.overdueAtMs }
  return {
    version,
    text: JSON.stringify({ state: encodeRecord(record), ...sent }),
    dueMs: dueMark(record),
    overdueMs: overdueMark(record),
    unsettled: waiting.length,
    deadLetters: dead.length,
  }
}

export function recordIn({ key, text }: Pick<StoredRecord, 'key' | 'text'>): MessageRecord {
  const { state, send, sentAtMs, overdueAtMs } = fieldsIn(text)
  const columns = {
    state: typeof state === 'string' ? state : '',
    send: send === undefined || typeof send === 'string' ? send : '',
    sentAtMs: Number(sentAtMs ?? 0),
    overdueAtMs: overdueAtMs === undefined ? undefined : Number(overdueAtMs),
  }
  return storedRecord(columns, key)
}

export function payloadText({ record, raw, error }: Omit<Payload, 'id'>, admittedAtMs: number): string {
  return JSON.stringify({ record: JSON.stringify(record), raw: raw.toString('base64'), error, admittedAtMs })
}

export function payloadIn({ id, text }: PayloadRow): StoredPayload {
  const { record, raw, error, admittedAtMs } = fieldsIn(text)
  return storedPayload({
    id,
    admittedAtMs: typeof admittedAtMs === 'number' ? admittedAtMs : 0,
    record: typeof record === 'string' ? Buffer.from(record) : undefined,
    raw: typeof raw === 'string' ? Buffer.from(raw, 'base64') : undefined,
    error: typeof error === 'string' ? error : undefined,
  })
}

function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text)
    return isRecord(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
