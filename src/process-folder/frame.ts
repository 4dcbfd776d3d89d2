/**
 * How a record lies in a file of a process, all numbers little-endian:
 *
 *     magic 4 · payload's length 4 · payload's CRC-32 4 · CRC-32 of these twelve bytes 4
 *     payload: length of the JSON 4 · what was kept but for its bytes, as JSON · the bytes · an end, where one is written
 *
 * The header has a checksum of its own, so that a damaged payload costs one record, and a file can be counted by hopping
 * from header to header. Both checksums start from a salt that stands in the file's name: strangers write these bytes, and
 * what looks like a frame inside a body, or in a block of a removed file, is never taken for one.
 */
import { crc32 } from 'node:zlib'

export const HEADER_BYTES = 16
const SUMMED_BYTES = 12
const LENGTH_BYTES = 4
const NOTHING = Buffer.alloc(0)

export interface FrameHeader {
  /** Of the payload. */
  readonly length: number
  readonly checksum: number
}

interface Content {
  readonly fields: object
  readonly bytes: Buffer
  readonly end?: Buffer
}

export function encode(magic: Buffer, { fields, bytes, end = NOTHING }: Content, salt: number): Buffer {
  // JSON escapes NUL and lone surrogates.
  const json = Buffer.from(JSON.stringify(fields))
  const length = LENGTH_BYTES + json.length + bytes.length + end.length
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  const bytesStart = HEADER_BYTES + LENGTH_BYTES + json.length
  frame.writeUInt32LE(json.length, HEADER_BYTES)
  json.copy(frame, HEADER_BYTES + LENGTH_BYTES)
  bytes.copy(frame, bytesStart)
  end.copy(frame, bytesStart + bytes.length)
  magic.copy(frame)
  frame.writeUInt32LE(length, 4)
  frame.writeUInt32LE(crc32(frame.subarray(HEADER_BYTES), salt), 8)
  frame.writeUInt32LE(crc32(frame.subarray(0, SUMMED_BYTES), salt), SUMMED_BYTES)
  return frame
}

/** The header that begins these bytes, or undefined where none does. */
export function readFrameHeader(magic: Buffer, bytes: Buffer, salt: number): FrameHeader | undefined {
  if (bytes.length < HEADER_BYTES || bytes.compare(magic, 0, magic.length, 0, magic.length) !== 0) return undefined
  if (crc32(bytes.subarray(0, SUMMED_BYTES), salt) !== bytes.readUInt32LE(SUMMED_BYTES)) return undefined
  return { length: bytes.readUInt32LE(4), checksum: bytes.readUInt32LE(8) }
}

/**
 * What `read` makes of what `encode` was given, or undefined where it is not what was written; `rest` is the bytes and the
 * end, a part of `payload`.
 */
export function decode<T>(
  payload: Buffer,
  { checksum }: FrameHeader,
  salt: number,
  read: (fields: unknown, rest: Buffer) => T,
): T | undefined {
  if (crc32(payload, salt) !== checksum) return undefined
  try {
    const jsonEnd = LENGTH_BYTES + payload.readUInt32LE(0)
    return read(JSON.parse(payload.toString('utf8', LENGTH_BYTES, jsonEnd)), payload.subarray(jsonEnd))
  } catch {
    // A damage that keeps the checksum is rare, but it must not stand in the way of what comes after.
    return undefined
  }
}

/** Whether zeros were written over a payload from its beginning on. */
export function isErased(payload: Buffer): boolean {
  return payload.length >= LENGTH_BYTES && payload.readUInt32LE(0) === 0
}
