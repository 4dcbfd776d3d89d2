/** Finds the records of a file that may be incomplete at the end and corrupt anywhere, with one chunk of it in memory. */
import { systemCode, type OpenedFile } from './file-system.ts'
import { HEADER_BYTES, isErased, readHeader, readPayload, type RecordHeader, type RecordKind } from './record.ts'

const CHUNK_BYTES = 1024 * 1024
/** Disks fail to read in units of at most this size. */
const PAGE_BYTES = 4096

/** Reads from `position`, up to `length` bytes. Valid until the next call. */
type Window = (position: number, length: number) => Promise<Buffer>

interface Range {
  readonly from: number
  readonly end: number
  readonly salt: number
}

/** `next` is where to continue. */
type Found<T> =
  | { readonly kind: 'record'; readonly value: T; readonly next: number }
  /** A corrupt record. `isErased` if it now consists of zeros. */
  | { readonly kind: 'damage'; readonly isErased: boolean; readonly next: number }
  /** Only the remainder of an incomplete write. */
  | { readonly kind: 'torn'; readonly next: number }

type Frame =
  | Exclude<Found<never>, { kind: 'record' }>
  | { readonly kind: 'frame'; readonly header: RecordHeader; readonly next: number }

/** The record or corruption at `from`. A value may share its bytes with the window. */
export async function nextRecord<T>(window: Window, range: Range, kind: RecordKind<T>): Promise<Found<T>> {
  const { from, end, salt } = range
  const frame = await frameAt(window, range, kind.magic)
  if (frame.kind !== 'frame') return frame
  const { header, next } = frame
  const payload = await window(from + HEADER_BYTES, header.length)
  const value = readPayload(kind, payload, header, salt)
  if (value !== undefined) return { kind: 'record', value, next }
  const wasErased = isErased(payload)
  const lacksEnd = kind.end.length > 0 && payload.at(-1) === 0
  if (lacksEnd && (await onlyZeros(window, next, end))) return { kind: 'torn', next: end }
  // If bytes are missing, the next record starts before the end of this one. A body of zeros then looks erased.
  const within = { from: from + HEADER_BYTES, end: Math.min(next + HEADER_BYTES - 1, end), salt }
  const resumed = await findHeader(window, within, kind.magic)
  return { kind: 'damage', isErased: wasErased, next: resumed ?? next }
}

/** Everything in the range, with positions. A value is valid until the next one is read. */
export async function* recordsIn<T>(
  window: Window,
  range: Range,
  kind: RecordKind<T>,
): AsyncGenerator<Found<T> & { readonly at: number }> {
  for (let at = range.from; at < range.end;) {
    const found = await nextRecord(window, { ...range, from: at }, kind)
    yield { ...found, at }
    at = found.next
  }
}

/** The number of records by their headers, without reading payloads. */
export async function countRecords(window: Window, { end, salt }: Omit<Range, 'from'>, magic: Buffer): Promise<number> {
  let records = 0
  for (let from = 0; from < end;) {
    const { kind, next } = await frameAt(window, { from, end, salt }, magic)
    if (kind === 'frame') records += 1
    from = next
  }
  return records
}

async function frameAt(window: Window, { from, end, salt }: Range, magic: Buffer): Promise<Frame> {
  const bytes = await window(from, HEADER_BYTES)
  if (bytes.length < HEADER_BYTES) return { kind: 'torn', next: end }
  const header = readHeader(magic, bytes, salt)
  const next = from + HEADER_BYTES + (header?.length ?? 0)
  if (header !== undefined && next <= end) return { kind: 'frame', header, next }
  const resumed = await findHeader(window, { from: from + 1, end, salt }, magic)
  if (resumed !== undefined) return { kind: 'damage', isErased: false, next: resumed }
  // A remainder shorter than a header was never more than the start of one.
  const isTorn = header !== undefined || (await onlyZeros(window, from + HEADER_BYTES - 1, end))
  return isTorn ? { kind: 'torn', next: end } : { kind: 'damage', isErased: false, next: end }
}

/** The position of the next header. Undefined without one. */
async function findHeader(window: Window, { from, end, salt }: Range, magic: Buffer): Promise<number | undefined> {
  for (let position = from; position < end;) {
    const chunk = await window(position, Math.min(CHUNK_BYTES, end - position))
    for (let index = chunk.indexOf(magic); index >= 0; index = chunk.indexOf(magic, index + 1))
      if (readHeader(magic, chunk.subarray(index, index + HEADER_BYTES), salt) !== undefined) return position + index
    if (chunk.length < CHUNK_BYTES) return undefined
    // A header may cross the boundary of two chunks.
    position += chunk.length - HEADER_BYTES + 1
  }
  return undefined
}

async function onlyZeros(window: Window, from: number, end: number): Promise<boolean> {
  for (let position = from; position < end;) {
    const chunk = await window(position, CHUNK_BYTES)
    if (chunk.length === 0) break
    if (chunk.some((byte) => byte !== 0)) return false
    position += chunk.length
  }
  return true
}

/** Reads a file up to `end`. Calls `failed` if the disk cannot read a part of it. */
export function windowOver(file: Pick<OpenedFile, 'read'>, end: number, failed = (): void => {}): Window {
  let buffer = Buffer.alloc(0)
  let start = 0
  let held = 0
  return async (position, length) => {
    const wanted = Math.max(0, Math.min(length, end - position))
    if (position < start || position + wanted > start + held) {
      const size = Math.min(Math.max(wanted, CHUNK_BYTES), end - position)
      if (buffer.length < size || buffer.length > Math.max(size, CHUNK_BYTES)) buffer = Buffer.allocUnsafe(size)
      held = 0
      held = await readChunk(file, buffer.subarray(0, size), position, failed)
      start = position
    }
    return buffer.subarray(position - start, Math.min(position - start + wanted, held))
  }
}

async function readChunk(
  file: Pick<OpenedFile, 'read'>,
  into: Buffer,
  position: number,
  failed: () => void,
): Promise<number> {
  try {
    return await readInto(file, into, position)
  } catch (error) {
    if (systemCode(error) !== 'EIO') throw error
  }
  // An unreadable page counts as corrupt. The data after it is still read.
  let bytes = 0
  for (let at = 0; at < into.length; at += PAGE_BYTES) {
    const page = into.subarray(at, at + PAGE_BYTES)
    try {
      bytes += await readInto(file, page, position + at)
    } catch (error) {
      if (systemCode(error) !== 'EIO') throw error
      failed()
      page.fill(0xff)
      bytes += page.length
    }
  }
  return bytes
}

async function readInto(file: Pick<OpenedFile, 'read'>, into: Buffer, position: number): Promise<number> {
  let done = 0
  while (done < into.length) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}
