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
    if (header === undefined) {
      damaged()
      offset = await nextHeader(read, offset + 1, file)
      continue
    }
    const length = HEADER_BYTES + header.length
    // The process ended in the middle of it.
    if (offset + length > end) return
    const payload = await read(offset + HEADER_BYTES, header.length)
    const remembered = decodePayload(payload, header, salt)
    if (remembered !== undefined) yield { offset, length, remembered }
    else if (!isErased(payload)) damaged()
    offset += length
  }
}

async function nextHeader(read: Read, from: number, { salt, end }: RequestsFile): Promise<number> {
  for (let at = from; at + HEADER_BYTES <= end;) {
    const chunk = await read(at, CHUNK_BYTES)
    const found = chunk.indexOf(MAGIC)
    if (found === -1) at += Math.max(1, chunk.length - MAGIC.length + 1)
    else if (readHeader(await read(at + found, HEADER_BYTES), salt) !== undefined) return at + found
    else at += found + 1
  }
  return end
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
