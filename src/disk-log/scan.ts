/** Finds the records in a file that may be torn at its end and damaged anywhere, in the memory of one chunk of it. */
import { systemCode, type OpenedFile } from './file-system.ts'
import { HEADER_BYTES, isErased, readHeader, readPayload, type RecordHeader, type RecordKind } from './record.ts'

const CHUNK_BYTES = 1024 * 1024
/** What a disk fails to read, it fails to read in units of this size or smaller. */
const PAGE_BYTES = 4096

/** The bytes from `position` on, as many as asked for or as there are; good until the next call. */
type Window = (position: number, length: number) => Promise<Buffer>

/** Where to look. */
interface Range {
  readonly from: number
  readonly end: number
  readonly salt: number
}

/** `next` is where to go on. */
type Found<T> =
  | { readonly kind: 'record'; readonly value: T; readonly next: number }
  /** Something stood there that is no record any more; `isErased` where zeros stand there now. */
  | { readonly kind: 'damage'; readonly isErased: boolean; readonly next: number }
  /** Nothing more but what a write left that did not come to its end. */
  | { readonly kind: 'torn'; readonly next: number }

type Frame =
  | Exclude<Found<never>, { kind: 'record' }>
  | { readonly kind: 'frame'; readonly header: RecordHeader; readonly next: number }

/** What stands at `from`. A value may share its bytes with the window. */
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
  // Where bytes of it are missing, the next record begins before its end; a body of zeros then looks like one erased.
  const within = { from: from + HEADER_BYTES, end: Math.min(next + HEADER_BYTES - 1, end), salt }
  const resumed = await findHeader(window, within, kind.magic)
  return { kind: 'damage', isErased: wasErased, next: resumed ?? next }
}

/** All that stands in the range, each with where it begins; a value is good until the next one is asked for. */
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

/** How many records there are by their headers, without a look at what they hold. */
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
  // What ends before a header does was never more than the beginning of one.
  const isTorn = header !== undefined || (await onlyZeros(window, from + HEADER_BYTES - 1, end))
  return isTorn ? { kind: 'torn', next: end } : { kind: 'damage', isErased: false, next: end }
}

/** Where the next header begins, if there is one. */
async function findHeader(window: Window, { from, end, salt }: Range, magic: Buffer): Promise<number | undefined> {
  for (let position = from; position < end;) {
    const chunk = await window(position, Math.min(CHUNK_BYTES, end - position))
    for (let index = chunk.indexOf(magic); index >= 0; index = chunk.indexOf(magic, index + 1))
      if (readHeader(magic, chunk.subarray(index, index + HEADER_BYTES), salt) !== undefined) return position + index
    if (chunk.length < CHUNK_BYTES) return undefined
    // A header may lie across the border of two chunks.
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

/** Looks at a file up to `end`; `failed` is called where the disk fails to give a part of it. */
export function windowOver(file: Pick<OpenedFile, 'read'>, end: number, failed: () => void): Window {
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
  // A page that cannot be read is damage like any other; what lies behind it is still wanted.
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
