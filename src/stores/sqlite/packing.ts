/**
 * A batch of events on its way to the other thread: a list of plain values each, and all bytes in one buffer. Objects would
 * be copied key by key, with their names; a small Buffer is a slice of a pool, which would be copied whole each time.
 */
import type { NewEvent } from '../../inbox/store.ts'
import { encodeRecord } from './encoding.ts'

/** An event as it goes into the file: its record is bytes already. */
export interface EncodedEvent extends Omit<NewEvent, 'record'> {
  readonly record: Buffer
}

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
  const encoded = events.map((event): EncodedEvent => ({ ...event, record: encodeRecord(event.record) }))
  const parts = encoded.flatMap(({ record, raw }) => [record, raw])
  const bytes = new ArrayBuffer(parts.reduce((sum, part) => sum + part.length, 0))
  const into = new Uint8Array(bytes)
  let end = 0
  for (const part of parts) {
    into.set(part, end)
    end += part.length
  }
  return { events: encoded.map(packEvent), bytes }
}

function packEvent(event: EncodedEvent): PackedEvent {
  const { id, messageKey, order, final, step, awaits, gapUntilMs, record, raw } = event
  return [id, messageKey, order, final, step, awaits, gapUntilMs, record.length, raw.length]
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
