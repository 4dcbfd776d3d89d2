/**
 * How a kept request lies in a file, all numbers little-endian:
 *
 *     magic 4 · payload's length 4 · payload's CRC-32 4 · CRC-32 of these twelve bytes 4
 *     payload: length of the JSON 4 · the request but for its body, as JSON · the body as it came
 *
 * The header has a checksum of its own, so that a damaged payload costs one request. Both checksums start from a salt
 * that stands in the file's name: strangers write these bodies, and must not write records inside them.
 */
import { crc32 } from 'node:zlib'
import type { KeptRequest } from '../request.ts'

/** "mq" between a byte that no UTF-8 has and the version. */
export const MAGIC = Buffer.from([0xf5, 0x6d, 0x71, 0x01])
export const HEADER_BYTES = 16
const SUMMED_BYTES = 12
const LENGTH_BYTES = 4

export type Remembered = Omit<KeptRequest, 'id'>

interface FrameHeader {
  /** Of the payload. */
  readonly length: number
  readonly checksum: number
}

export function encodeFrame({ id: _, callback, ...standing }: KeptRequest, salt: number): Buffer {
  const { captured, ...rest } = callback
  const { bytes, decoded } = captured
  const json = Buffer.from(JSON.stringify({ ...standing, callback: { ...rest, decoded } }))
  const length = LENGTH_BYTES + json.length + bytes.length
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length)
  frame.writeUInt32LE(json.length, HEADER_BYTES)
  json.copy(frame, HEADER_BYTES + LENGTH_BYTES)
  bytes.copy(frame, HEADER_BYTES + LENGTH_BYTES + json.length)
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

/** The request of a payload, or undefined where it is not what was written. Its body is a part of `payload`. */
export function decodePayload(payload: Buffer, { checksum }: FrameHeader, salt: number): Remembered | undefined {
  if (crc32(payload, salt) !== checksum) return undefined
  try {
    const jsonEnd = LENGTH_BYTES + payload.readUInt32LE(0)
    // What encodeFrame wrote, as the checksum says.
    const fields = JSON.parse(payload.toString('utf8', LENGTH_BYTES, jsonEnd)) as Omit<Remembered, 'callback'> & {
      readonly callback: Omit<Remembered['callback'], 'captured'> & { readonly decoded: boolean }
    }
    const { decoded, ...rest } = fields.callback
    return { ...fields, callback: { ...rest, captured: { kind: 'exact', decoded, bytes: payload.subarray(jsonEnd) } } }
  } catch {
    return undefined
  }
}

/** Whether the request was removed: zeros were written over it from its beginning on. */
export function isErased(payload: Buffer): boolean {
  return payload.length >= LENGTH_BYTES && payload.readUInt32LE(0) === 0
}
