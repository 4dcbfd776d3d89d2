/** A file a chunk at a time, so that a backlog of any size is read in the memory of one chunk. */
import { systemCode, type OpenedFile } from '../../process-folder/files.ts'

export const CHUNK_BYTES = 1024 * 1024
/** What a disk fails to read, it fails to read in units of this size or smaller. */
const PAGE_BYTES = 4096

/** The bytes from `position` on, as many as asked for or as there are; good until the next call. */
export type Window = (position: number, length: number) => Promise<Buffer>

/** Looks at a file up to `end`; `failed` is called where the disk fails to give a part of it. */
export function windowOver(file: OpenedFile, end: number, failed: () => void): Window {
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

async function readChunk(file: OpenedFile, into: Buffer, position: number, failed: () => void): Promise<number> {
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

async function readInto(file: OpenedFile, into: Buffer, position: number): Promise<number> {
  let done = 0
  while (done < into.length) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}
