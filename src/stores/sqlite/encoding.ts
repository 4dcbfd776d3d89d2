/** Records as bytes: JSON escapes lone surrogates and NUL, and a BLOB has no opinion on what is text. */
import { isMessageLatest, type MessageLatest } from '../../inbox/latest.ts'
import type { EventRecord } from '../../inbox/record.ts'

export function encodeRecord(record: EventRecord): Buffer {
  return Buffer.from(JSON.stringify(record))
}

export function encodeLatest(latest: MessageLatest | undefined): Buffer | null {
  return latest === undefined ? null : Buffer.from(JSON.stringify(latest))
}

/** The same of a message's first report, whose record is encoded already. */
export function encodeFirst(report: {
  readonly order: string
  readonly final: boolean
  readonly record: Buffer
}): Buffer {
  const { order, final, record } = report
  const newest = `"order":${JSON.stringify(order)},"record":${record.toString('utf8')}`
  return Buffer.from(`{${newest},"finals":[${final ? `{${newest}}` : ''}]}`)
}

/** Undefined where it is damaged. */
export function decodeLatest(bytes: Buffer): MessageLatest | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isMessageLatest(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A digest of 32 hexadecimal digits as its 16 bytes. */
export function digestBytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
}
