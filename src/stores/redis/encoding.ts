/** Records, sends and payloads as Redis keeps them. Scripts read none of it but versions. */
import { damagedRecord, readRecord } from '../../messages/event-record.ts'
import type { NewEvent } from '../../inbox/store.ts'
import type { Payload } from '../../inbox/record-store.ts'
import { decodeSend, encodeSend } from '../../inbox/runtime/codec.ts'
import { overdueMark } from '../../messages/marks.ts'
import type { SendEntry } from '../../messages/record.ts'
import { HEAD_DIGITS, VERSION_DIGITS } from './scripts.ts'

export function versionText(version: number): string {
  return version.toString(16).padStart(VERSION_DIGITS, '0')
}

/** A stored record: its version, and the text of the rest; undefined where it has no version. */
export function splitVersion(stored: Buffer): { readonly version: number; readonly text: string } | undefined {
  const text = stored.toString('utf8')
  const digits = text.slice(0, VERSION_DIGITS)
  if (!/^[0-9a-f]{12}$/.test(digits)) return undefined
  return { version: Number.parseInt(digits, 16), text: text.slice(VERSION_DIGITS) }
}

const NEVER = '-'

export function encodeStoredSend(send: SendEntry): string {
  return `${Math.floor(send.sentAtMs)} ${overdueMark({ send }) ?? NEVER} ${encodeSend(send)}`
}

/** Undefined where it cannot be read. */
export function decodeStoredSend(stored: Buffer): SendEntry | undefined {
  const [, sentAt, overdueAt, text] = /^(-?\d{1,16}) (-|-?\d{1,16}) (.*)$/s.exec(stored.toString('utf8')) ?? []
  if (sentAt === undefined || overdueAt === undefined || text === undefined) return undefined
  const overdueAtMs = overdueAt === NEVER ? undefined : Number(overdueAt)
  return decodeSend(text, { sentAtMs: Number(sentAt), overdueAtMs })
}

const LINE_FEED = 10
const NO_BYTES = Buffer.alloc(0)

export function encodePayload({ record, raw }: NewEvent, admittedAtMs: number): Buffer {
  return Buffer.concat([Buffer.from(`${headOf(admittedAtMs)}${JSON.stringify(record)}\n`), raw])
}

function headOf(admittedAtMs: number): string {
  return String(Math.min(Math.max(Math.floor(admittedAtMs), 0), 10 ** HEAD_DIGITS - 1)).padStart(HEAD_DIGITS, '0')
}

/** When the event was admitted, as the beginning of its payload says; undefined where it says nothing. */
export function admittedAtMsIn(head: string): number | undefined {
  return /^\d{15}/.test(head) ? Number(head.slice(0, HEAD_DIGITS)) : undefined
}

/** Without a line feed nothing tells the record from the body. */
export function decodePayload(id: string, stored: Buffer): Payload & { readonly atMs: number } {
  const atMs = admittedAtMsIn(stored.toString('latin1', 0, HEAD_DIGITS))
  const rest = atMs === undefined ? stored : stored.subarray(HEAD_DIGITS)
  const end = rest.indexOf(LINE_FEED)
  const json = end === -1 ? rest : rest.subarray(0, end)
  const raw = end === -1 ? NO_BYTES : rest.subarray(end + 1)
  const record = end === -1 ? undefined : readRecord(json)
  const known = { id, atMs: atMs ?? record?.receivedAtMs ?? 0, raw, error: undefined }
  if (record !== undefined) return { ...known, record }
  return { ...known, record: damagedRecord(json, known.atMs), corrupt: 'payload' }
}

/** The key of a dead letter's record and its error, as `deadof` keeps them. */
export function encodeDead(key: string, error: string): string {
  return `${key} ${error}`
}

export function decodeDead(stored: Buffer): { readonly key: string; readonly error: string } {
  const text = stored.toString('utf8')
  const end = text.indexOf(' ')
  return end === -1 ? { key: text, error: '' } : { key: text.slice(0, end), error: text.slice(end + 1) }
}
