/**
 * How an event lies in a file, all numbers little-endian:
 *
 *     magic 4 · payload's length 4 · payload's CRC-32 4 · CRC-32 of these twelve bytes 4
 *     payload: length of the JSON 4 · the event but for its bytes, as JSON · its bytes · end mark 1
 *
 * The header has a checksum of its own, so that a damaged payload costs one record, and a backlog can be counted by
 * hopping from header to header. Both checksums start from a salt of the writing process that stands in the file's name:
 * bytes that look like a frame inside a body, or a block of a removed file, are never taken for one.
 */
import { crc32 } from 'node:zlib'
import type { NewEvent } from '../store.ts'

/** "mw" between a byte that no UTF-8 has and the version. */
export const MAGIC = Buffer.from([0xf5, 0x6d, 0x77, 0x01])
export const HEADER_BYTES = 16
const SUMMED_BYTES = 12
const LENGTH_BYTES = 4
/** Tells a record that was damaged from one whose end was never written into blocks that were set aside as zeros. */
const END_MARK = 0x0a

export interface FrameHeader {
  /** Of the payload. */
  readonly length: number
  readonly checksum: number
}

export function encodeFrame({ raw, ...fields }: NewEvent, salt: number): Buffer {
  // JSON escapes NUL and lone surrogates.
  const json = Buffer.from(JSON.stringify(fields))
  const length = LENGTH_BYTES + json.length + raw.length + 1
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  frame.writeUInt32LE(json.length, HEADER_BYTES)
  json.copy(frame, HEADER_BYTES + LENGTH_BYTES)
  raw.copy(frame, HEADER_BYTES + LENGTH_BYTES + json.length)
  frame[frame.length - 1] = END_MARK
  MAGIC.copy(frame)
  frame.writeUInt32LE(length, 4)
  frame.writeUInt32LE(crc32(frame.subarray(HEADER_BYTES), salt), 8)
  frame.writeUInt32LE(crc32(frame.subarray(0, SUMMED_BYTES), salt), SUMMED_BYTES)
  return frame
}

/** The header that begins these bytes, or undefined where none does. */
export function readHeader(bytes: Buffer, salt: number): FrameHeader | undefined {
  if (bytes.length < HEADER_BYTES || bytes.compare(MAGIC, 0, MAGIC.length, 0, MAGIC.length) !== 0) return undefined
  if (crc32(bytes.subarray(0, SUMMED_BYTES), salt) !== bytes.readUInt32LE(SUMMED_BYTES)) return undefined
  return { length: bytes.readUInt32LE(4), checksum: bytes.readUInt32LE(8) }
}

/** The event of a payload, or undefined where it is not what was written. Its bytes are a copy. */
export function decodePayload(payload: Buffer, { checksum }: FrameHeader, salt: number): NewEvent | undefined {
  if (crc32(payload, salt) !== checksum) return undefined
  try {
    const jsonEnd = LENGTH_BYTES + payload.readUInt32LE(0)
    // What encodeFrame wrote, as the checksum says.
    const fields = JSON.parse(payload.toString('utf8', LENGTH_BYTES, jsonEnd)) as Omit<NewEvent, 'raw'>
    return { ...fields, raw: Buffer.from(payload.subarray(jsonEnd, -1)) }
  } catch {
    // A damage that keeps the checksum is rare, but it must not stand in the way of what comes after.
    return undefined
  }
}

/** Whether the write of a payload stopped before its end. */
export function lacksEnd(payload: Buffer): boolean {
  return payload.at(-1) === 0
}
