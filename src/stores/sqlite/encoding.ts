/**
 * Events as bytes, in the file and in messages to the other thread, and the values of rows. JSON escapes lone surrogates and
 * NUL, and a BLOB may contain any bytes.
 */
import type { SQLOutputValue } from 'node:sqlite'
import { carriesEvent, traitsOf, type Command, type CommandWithEvent } from '../../messages/commands.ts'
import { isEventRecord, type EventRecord, type NewEvent } from '../../messages/event-record.ts'
import { sql, type Sql } from '../../runtime/sql.ts'
import { isRecord } from '../../runtime/values.ts'
import { unusable } from '../stored.ts'

/** The 16 bytes of a digest of 32 hexadecimal digits. */
export function digestBytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
}

type PackedEvents = ReturnType<typeof packEvents>

type WithoutEvent = Exclude<Command, CommandWithEvent>

/** Commands whose events are packed together: an emptied command stands for the next one. */
export interface PackedCommands {
  readonly commands: readonly PackedCommand[]
  readonly events: PackedEvents
}

type PackedCommand = WithoutEvent | Emptied<CommandWithEvent>
type Emptied<C> = C extends CommandWithEvent ? Omit<C, 'event'> : never

/** Commands for the other thread. */
export function packCommands(commands: readonly Command[]): PackedCommands {
  const events: NewEvent[] = []
  const emptied = commands.map((command): PackedCommand => {
    if (!carriesEvent(command)) return command
    const { event, ...rest } = command
    events.push(event)
    return rest
  })
  return { commands: emptied, events: packEvents(events) }
}

export function unpackCommands({ commands, events }: PackedCommands): readonly Command[] {
  const unpacked = unpackEvents(events).values()
  const next = (): NewEvent => unpacked.next().value ?? unusable('event')
  return commands.map((command): Command => (isEmptied(command) ? { ...command, event: next() } : command))
}

function isEmptied(command: PackedCommand): command is Emptied<CommandWithEvent> {
  return traitsOf(command).adds === 'event'
}

/**
 * A batch of events for the other thread: a list of plain values per event, and all bytes in one buffer. Objects would be
 * cloned key by key, and a small Buffer would clone its whole pool.
 */
function packEvents(events: readonly NewEvent[]) {
  const parts: Buffer[] = []
  let length = 0
  const lists = events.map((event) => {
    const { id, messageKey, order, final, step, awaits, reorderWaitMs, repeats, raw } = event
    const record = Buffer.from(JSON.stringify(event.record))
    parts.push(record, raw)
    length += record.length + raw.length
    return [id, messageKey, order, final, step, awaits, reorderWaitMs, repeats, record.length, raw.length] as const
  })
  const bytes = new Uint8Array(length)
  let end = 0
  for (const part of parts) {
    bytes.set(part, end)
    end += part.length
  }
  return { lists, bytes }
}

function unpackEvents({ lists, bytes }: PackedEvents): readonly NewEvent[] {
  let end = 0
  const next = (length: number): Buffer => asBuffer(bytes.subarray(end, (end += length)))
  return lists.map(([id, messageKey, order, final, step, awaits, reorderWaitMs, repeats, recordLength, rawLength]) => {
    const encoded = next(recordLength)
    const record: unknown = JSON.parse(encoded.toString('utf8'))
    if (!isEventRecord(record)) throw new TypeError('This is not the record of an event.')
    ENCODED.set(record, encoded)
    return { id, messageKey, order, final, step, awaits, reorderWaitMs, repeats, record, raw: next(rawLength) }
  })
}

/** The JSON of records from the other thread, so that `recordBytes` need not serialise them again. */
const ENCODED = new WeakMap<EventRecord, Buffer>()

export function recordBytes(record: EventRecord): Buffer {
  return ENCODED.get(record) ?? Buffer.from(JSON.stringify(record))
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** A Buffer arrives from another thread as a plain Uint8Array. */
export function withBuffers<T>(one: T): T {
  if (!isRecord(one)) return one
  const { raw, payload } = one
  if (raw instanceof Uint8Array) return { ...one, raw: asBuffer(raw) }
  return payload === undefined ? one : { ...one, payload: withBuffers(payload) }
}

/** A row. Parameters are bound by position: binding by name makes an insert three times slower. */
export type Row = Readonly<Record<string, SQLOutputValue>>

/** Reads a column as its declared type. The tables are STRICT, so it cannot have another. */
export function integer(row: Row, column: string): number {
  const value = row[column]
  return typeof value === 'number' ? value : unusable(column)
}

export function text(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : unusable(column)
}

/** Undefined if the column is null. */
export function textOrNone(row: Row, column: string): string | undefined {
  const value = row[column]
  return typeof value === 'string' ? value : undefined
}

/** Undefined if the column is null. */
export function blob(row: Row, column: string): Buffer | undefined {
  const value = row[column]
  return value instanceof Uint8Array ? asBuffer(value) : undefined
}

/**
 * Clamps a number to the range of JavaScript. A corrupt number, read directly, would fail the whole statement with all its other
 * rows.
 */
export function cut(column: Sql): Sql {
  return sql`max(0, min(${column}, 9007199254740991))`
}
