/**
 * A batch of events on its way to the other thread: plain values in one list, and all bytes in one buffer. Objects would be
 * copied key by key, with their names; a small Buffer is a slice of a pool, which would be copied whole each time.
 */
import type { NewEvent } from '../../inbox/store.ts'
import { encodeRecord } from './encoding.ts'

/** An event as it goes into the file: its record is bytes already. */
export interface EncodedEvent extends Omit<NewEvent, 'record'> {
  readonly record: Buffer
}

type Value = string | number | boolean

export interface PackedEvents {
  /** So many for each event, as `pack` writes them. */
  readonly values: readonly Value[]
  /** The record and the body of each event. */
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
const VALUES = 9

export function packEvents(events: readonly NewEvent[]): PackedEvents {
  const records = events.map(({ record }) => encodeRecord(record))
  const parts = events.flatMap(({ raw }, index) => [records[index] ?? EMPTY, raw])
  const bytes = new ArrayBuffer(parts.reduce((sum, part) => sum + part.length, 0))
  const into = new Uint8Array(bytes)
  let end = 0
  for (const part of parts) {
    into.set(part, end)
    end += part.length
  }
  const values = events.flatMap((event, index): PackedEvent => {
    const { id, messageKey, order, final, step, awaits, gapUntilMs, raw } = event
    return [id, messageKey, order, final, step, awaits, gapUntilMs, records[index]?.length ?? 0, raw.length]
  })
  return { values, bytes }
}

const EMPTY = Buffer.alloc(0)

export function unpackEvents({ values, bytes }: PackedEvents): readonly EncodedEvent[] {
  const events: EncodedEvent[] = []
  let end = 0
  function next(length: number): Buffer {
    const part = Buffer.from(bytes, end, length)
    end += length
    return part
  }
  for (let from = 0; from < values.length; from += VALUES) {
    // Only `packEvents` writes them.
    const packed = values.slice(from, from + VALUES) as unknown as PackedEvent
    const [id, messageKey, order, final, step, awaits, gapUntilMs, recordBytes, rawBytes] = packed
    const record = next(recordBytes)
    events.push({ id, messageKey, order, final, step, awaits, gapUntilMs, record, raw: next(rawBytes) })
  }
  return events
}
