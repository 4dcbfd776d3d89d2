/** Finds the requests in a file that may be torn at its end and damaged anywhere. */
import { HEADER_BYTES, isErased } from '../../../process-folder/frame.ts'
import { decodePayload, MAGIC, readHeader, type Remembered } from './frame.ts'
import type { RequestsFile } from './requests-file.ts'

const CHUNK_BYTES = 256 * 1024

export interface Found {
  readonly offset: number
  /** Of its frame. */
  readonly length: number
  readonly remembered: Remembered
}

/** Up to `length` bytes from `position` on; good until the next call. */
type Read = (position: number, length: number) => Promise<Buffer>

/** The requests in the order of the file; `damaged` is called for every place where something else stands. */
export async function* scanRequests(file: RequestsFile, damaged: () => void): AsyncGenerator<Found> {
  const { salt, end } = file
  const read = readerOf(file)
  for (let offset = 0; offset + HEADER_BYTES <= end;) {
    const header = readHeader(await read(offset, HEADER_BYTES), salt)
    const next = offset + HEADER_BYTES + (header?.length ?? 0)
    if (header === undefined || next > end) {
      const resumed = await findHeader(read, { from: offset + 1, to: end, salt })
      // The process ended in the middle of it.
      if (header !== undefined && resumed === undefined) return
      damaged()
      offset = resumed ?? end
      continue
    }
    const payload = await read(offset + HEADER_BYTES, header.length)
    const remembered = decodePayload(payload, header, salt)
    if (remembered !== undefined) yield { offset, length: next - offset, remembered }
    else if (!isErased(payload)) damaged()
    // Where bytes of it are missing, the next one begins before its end; a body of zeros then looks like one blotted out.
    const range = { from: offset + HEADER_BYTES, to: Math.min(next + HEADER_BYTES - 1, end), salt }
    offset = (remembered === undefined ? await findHeader(read, range) : undefined) ?? next
  }
}

/** Where the next header begins, if there is one. */
async function findHeader(
  read: Read,
  { from, to, salt }: { readonly from: number; readonly to: number; readonly salt: number },
): Promise<number | undefined> {
  for (let at = from; at + HEADER_BYTES <= to;) {
    const chunk = await read(at, Math.min(CHUNK_BYTES, to - at))
    for (let index = chunk.indexOf(MAGIC); index >= 0; index = chunk.indexOf(MAGIC, index + 1))
      if (readHeader(chunk.subarray(index, index + HEADER_BYTES), salt) !== undefined) return at + index
    // A file that is shorter than it was has no more to read.
    if (chunk.length < HEADER_BYTES) return undefined
    // A header may lie across the border of two chunks.
    at += chunk.length - HEADER_BYTES + 1
  }
  return undefined
}

/** Reads ahead, a chunk at a time. */
function readerOf(file: RequestsFile): Read {
  let chunk = Buffer.alloc(0)
  let start = 0
  return async (position, length) => {
    const wanted = Math.min(length, file.end - position)
    if (position < start || position + wanted > start + chunk.length) {
      const size = Math.min(Math.max(wanted, CHUNK_BYTES), file.end - position)
      const buffer = Buffer.allocUnsafe(size)
      let done = 0
      while (done < size) {
        const bytesRead = await file.read(buffer.subarray(done), position + done)
        if (bytesRead === 0) break
        done += bytesRead
      }
      chunk = buffer.subarray(0, done)
      start = position
    }
    return chunk.subarray(position - start, position - start + wanted)
  }
}
