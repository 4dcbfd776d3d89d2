/** Finds the records in a file that may be torn at its end and damaged anywhere. */
import { HEADER_BYTES, type FrameHeader } from '../../process-folder/frame.ts'
import type { NewEvent } from '../store.ts'
import { decodePayload, lacksEnd, MAGIC, readHeader } from './frame.ts'
import { CHUNK_BYTES, type Window } from './window.ts'

const MOST_A_BATCH = 256
const MOST_BYTES_A_BATCH = 1024 * 1024

/** Where to look. */
interface Range {
  readonly from: number
  readonly end: number
  readonly salt: number
}

interface Batch {
  readonly events: readonly NewEvent[]
  /** Where the next one begins. */
  readonly next: number
  /** Where something stood that is no record any more. */
  readonly damages: readonly number[]
  /** Where the file stopped in the middle of a record. */
  readonly tornAt: number | undefined
}

type Found =
  | { readonly kind: 'frame'; readonly header: FrameHeader; readonly next: number }
  | { readonly kind: 'damage'; readonly next: number }
  /** Nothing more but what a write left that did not come to its end. */
  | { readonly kind: 'end'; readonly next: number }

/** The next records, at most a batch of them. */
export async function readBatch(window: Window, { from, end, salt }: Range): Promise<Batch> {
  const events: NewEvent[] = []
  const damages: number[] = []
  let position = from
  while (position < end && events.length < MOST_A_BATCH && position - from < MOST_BYTES_A_BATCH) {
    const found = await findFrame(window, { from: position, end, salt })
    let { next } = found
    if (found.kind === 'end') return { events, next, damages, tornAt: position }
    if (found.kind === 'damage') damages.push(position)
    else {
      const payload = await window(position + HEADER_BYTES, found.header.length)
      const event = decodePayload(payload, found.header, salt)
      if (event !== undefined) events.push(event)
      else if (lacksEnd(payload) && (await onlyZeros(window, next, end)))
        return { events, next: end, damages, tornAt: position }
      else {
        damages.push(position)
        // Where bytes of it are missing, the next record begins before its end.
        const range = { from: position + HEADER_BYTES, end: Math.min(next + HEADER_BYTES - 1, end), salt }
        next = (await findHeader(window, range)) ?? next
      }
    }
    position = next
  }
  return { events, next: position, damages, tornAt: undefined }
}

/** How many records there are by their headers, without a look at what they hold. */
export async function countRecords(window: Window, { from, end, salt }: Range): Promise<number> {
  let records = 0
  for (let position = from; position < end;) {
    const found = await findFrame(window, { from: position, end, salt })
    if (found.kind === 'end') break
    if (found.kind === 'frame') records += 1
    position = found.next
  }
  return records
}

async function findFrame(window: Window, { from, end, salt }: Range): Promise<Found> {
  const bytes = await window(from, HEADER_BYTES)
  if (bytes.length < HEADER_BYTES) return { kind: 'end', next: end }
  const header = readHeader(bytes, salt)
  const next = from + HEADER_BYTES + (header?.length ?? 0)
  if (header !== undefined && next <= end) return { kind: 'frame', header, next }
  const resumed = await findHeader(window, { from: from + 1, end, salt })
  if (resumed !== undefined) return { kind: 'damage', next: resumed }
  // What ends before a header does was never more than the beginning of one.
  const isTorn = header !== undefined || (await onlyZeros(window, from + HEADER_BYTES - 1, end))
  return { kind: isTorn ? 'end' : 'damage', next: end }
}

/** Where the next header begins, if there is one. */
async function findHeader(window: Window, { from, end, salt }: Range): Promise<number | undefined> {
  for (let position = from; position < end;) {
    const chunk = await window(position, Math.min(CHUNK_BYTES, end - position))
    for (let index = chunk.indexOf(MAGIC); index >= 0; index = chunk.indexOf(MAGIC, index + 1))
      if (readHeader(chunk.subarray(index, index + HEADER_BYTES), salt) !== undefined) return position + index
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
