/**
 * Events as bytes: as they stand in the file, and on their way to the other thread. JSON escapes lone surrogates and NUL, and a
 * BLOB has no opinion on what is text.
 */
import { isMessageLatest, type MessageLatest } from '../../inbox/latest.ts'
import type { NewEvent } from '../../inbox/store.ts'

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

/** An event as it goes into the file: its record is bytes already. */
export interface EncodedEvent extends Omit<NewEvent, 'record'> {
  readonly record: Buffer
}

/**
 * A batch of events on its way to the other thread: a list of plain values each, and all bytes in one buffer. Objects would
 * be copied key by key, with their names; a small Buffer is a slice of a pool, which would be copied whole each time.
 */
export interface PackedEvents {
  readonly events: readonly PackedEvent[]
  /** The record and the body of each event, one after the other. */
  readonly bytes: ArrayBuffer
}

type PackedEvent = readonly [
  id: string,
  messageKey: string,
  order: string,
  final: boolean,
  step: number,
  awaits: number,
  gapUntilMs: number,
  recordBytes: number,
  rawBytes: number,
]

export function packEvents(events: readonly NewEvent[]): PackedEvents {
  const parts: Buffer[] = []
  let length = 0
  const packed = events.map((event): PackedEvent => {
    const { id, messageKey, order, final, step, awaits, gapUntilMs, raw } = event
    const record = Buffer.from(JSON.stringify(event.record))
    parts.push(record, raw)
    length += record.length + raw.length
    return [id, messageKey, order, final, step, awaits, gapUntilMs, record.length, raw.length]
  })
  const bytes = new ArrayBuffer(length)
  const into = new Uint8Array(bytes)
  let end = 0
  for (const part of parts) {
    into.set(part, end)
    end += part.length
  }
  return { events: packed, bytes }
}

export function unpackEvents({ events, bytes }: PackedEvents): readonly EncodedEvent[] {
  let end = 0
  function next(length: number): Buffer {
    const part = Buffer.from(bytes, end, length)
    end += length
    return part
  }
  return events.map(([id, messageKey, order, final, step, awaits, gapUntilMs, recordBytes, rawBytes]) => {
    const record = next(recordBytes)
    return { id, messageKey, order, final, step, awaits, gapUntilMs, record, raw: next(rawBytes) }
  })
}

/** A Buffer comes out of another thread as a plain Uint8Array. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

export function withBuffer<T extends { readonly raw: Buffer }>(kept: T): T {
  return { ...kept, raw: asBuffer(kept.raw) }
}
