/** Records, sends and payloads as Redis stores them. Scripts read only versions. */
import { readRecord } from '../../messages/event-record.ts'
import type { NewEvent } from '../../messages/event-record.ts'
import { encodeSend } from '../codec.ts'
import { overdueMark, type SendEntry } from '../../messages/record.ts'
import { storedPayload, type StoredPayload } from '../stored.ts'
import { VERSION_LENGTH } from './scripts.ts'

/** Splits a stored record into its version and its text. */
export function splitVersion(stored: Buffer): { readonly version: string; readonly state: string } {
  return { version: stored.toString('latin1', 0, VERSION_LENGTH), state: stored.toString('utf8', VERSION_LENGTH) }
}

const NEVER = '-'

export function encodeStoredSend(send: SendEntry): string {
  return `${Math.floor(send.sentAtMs)} ${overdueMark({ send }) ?? NEVER} ${encodeSend(send)}`
}

/** Splits a stored send into its two times and its text. The text is empty if it cannot be read. */
export function splitSend(stored: Buffer | undefined) {
  const pattern = /^(-?\d{1,16}) (-|-?\d{1,16}) (.*)$/s
  const [, sentAt = '0', overdueAt = NEVER, text = ''] = pattern.exec(stored?.toString('utf8') ?? '') ?? []
  return {
    sentAtMs: Number(sentAt),
    overdueAtMs: overdueAt === NEVER ? undefined : Number(overdueAt),
    send: stored && text,
  }
}

const LINE_FEED = 10
/** The admission time at the beginning of a payload. */
const HEAD_DIGITS = 15

/** An admission time as it is stored. */
export function admissionMark(admittedAtMs: number): number {
  return Math.min(Math.max(Math.floor(admittedAtMs), 0), 10 ** HEAD_DIGITS - 1)
}

export function encodePayload({ record, raw }: NewEvent, admittedAtMs: number): Buffer {
  const atMs = admissionMark(admittedAtMs)
  return Buffer.concat([Buffer.from(`${String(atMs).padStart(HEAD_DIGITS, '0')}${JSON.stringify(record)}\n`), raw])
}

/** The admission time at the beginning of a payload. Undefined if there is none. */
function admittedAtMsIn(head: string): number | undefined {
  return /^\d{15}/.test(head) ? Number(head.slice(0, HEAD_DIGITS)) : undefined
}

export function decodePayload(id: string, stored: Buffer): StoredPayload {
  const atMs = admittedAtMsIn(stored.toString('latin1', 0, HEAD_DIGITS))
  const rest = atMs === undefined ? stored : stored.subarray(HEAD_DIGITS)
  const end = rest.indexOf(LINE_FEED)
  const record = end === -1 ? rest : rest.subarray(0, end)
  // Without a line feed the record cannot be separated from the body.
  const raw = end === -1 ? undefined : rest.subarray(end + 1)
  const admittedAtMs = atMs ?? readRecord(record)?.receivedAtMs ?? 0
  return storedPayload({ id, admittedAtMs, record, raw, error: undefined })
}

/** The record key and error of a dead letter, as stored in `deadof`. */
export function encodeDead(key: string, error: string): string {
  return `${key} ${error}`
}

export function decodeDead(stored: Buffer): { readonly key: string; readonly error: string } {
  const [, key = '', error = ''] = /^(\S*) ?(.*)$/s.exec(stored.toString('utf8')) ?? []
  return { key, error }
}
