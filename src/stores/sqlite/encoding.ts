/**
 * Events as bytes: as they stand in the file, and on their way to the other thread. JSON escapes lone surrogates and NUL, and a
 * BLOB has no opinion on what is text.
 */
import { isEventRecord, type EventRecord } from '../../inbox/record.ts'
import type { NewEvent } from '../../inbox/store.ts'

/** A digest of 32 hexadecimal digits as its 16 bytes. */
export function digestBytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
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

export function unpackEvents({ events, bytes }: PackedEvents): readonly NewEvent[] {
  let end = 0
  function next(length: number): Buffer {
    const part = Buffer.from(bytes, end, length)
    end += length
    return part
  }
  return events.map(([id, messageKey, order, final, step, awaits, gapUntilMs, recordLength, rawLength]) => {
    const encoded = next(recordLength)
    const record: unknown = JSON.parse(encoded.toString('utf8'))
    if (!isEventRecord(record)) throw new TypeError('This is no record of an event.')
    ENCODED.set(record, encoded)
    return { id, messageKey, order, final, step, awaits, gapUntilMs, record, raw: next(rawLength) }
  })
}

/** The bytes that records came as. */
const ENCODED = new WeakMap<EventRecord, Buffer>()

export function recordBytes(record: EventRecord): Buffer {
  return ENCODED.get(record) ?? Buffer.from(JSON.stringify(record))
}

/** A Buffer comes out of another thread as a plain Uint8Array. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

export function withBuffer<T extends { readonly raw: Buffer }>(kept: T): T {
  return { ...kept, raw: asBuffer(kept.raw) }
}
