/**
 * How a record lies in a file, all numbers little-endian:
 *
 *     magic 4 · payload's length 4 · payload's CRC-32 4 · CRC-32 of these twelve bytes 4
 *     payload: length of the JSON 4 · the fields as JSON · the bytes · an end, where the kind has one
 *
 * The header has a checksum of its own, so that a damaged payload costs one record, and a file can be counted by hopping
 * from header to header. Both checksums start from a salt that stands in the file's name: strangers write these bytes, and
 * what looks like a record inside a body, or in a block of a removed file, is never taken for one.
 */
import { crc32 } from 'node:zlib'

export const HEADER_BYTES = 16
const SUMMED_BYTES = 12
const LENGTH_BYTES = 4

/** What one log records, and what its records have that those of another have not. */
export interface RecordKind<T> {
  /** Four bytes, of which the last is the version. */
  readonly magic: Buffer
  /** Tells a damaged record from one whose end was never written into blocks of zeros; empty where that is the same. */
  readonly end: Buffer
  write(value: T): { readonly fields: object; readonly bytes: Buffer }
  /** What `write` was given, as the checksum says. The bytes are a part of what was read. */
  read(fields: unknown, bytes: Buffer): T
}

export interface RecordHeader {
  /** Of the payload. */
  readonly length: number
  readonly checksum: number
}

export function encodeRecord<T>({ magic, end, write }: RecordKind<T>, value: T, salt: number): Buffer {
  const { fields, bytes } = write(value)
  // JSON escapes NUL and lone surrogates.
  const json = Buffer.from(JSON.stringify(fields))
  const length = LENGTH_BYTES + json.length + bytes.length + end.length
  const record = Buffer.allocUnsafe(HEADER_BYTES + length)
  const bytesStart = HEADER_BYTES + LENGTH_BYTES + json.length
  record.writeUInt32LE(json.length, HEADER_BYTES)
  json.copy(record, HEADER_BYTES + LENGTH_BYTES)
  bytes.copy(record, bytesStart)
  end.copy(record, bytesStart + bytes.length)
  magic.copy(record)
  record.writeUInt32LE(length, 4)
  record.writeUInt32LE(crc32(record.subarray(HEADER_BYTES), salt), 8)
  record.writeUInt32LE(crc32(record.subarray(0, SUMMED_BYTES), salt), SUMMED_BYTES)
  return record
}

/** The header that begins these bytes, or undefined where none does. */
export function readHeader(magic: Buffer, bytes: Buffer, salt: number): RecordHeader | undefined {
  if (bytes.length < HEADER_BYTES || bytes.compare(magic, 0, magic.length, 0, magic.length) !== 0) return undefined
  if (crc32(bytes.subarray(0, SUMMED_BYTES), salt) !== bytes.readUInt32LE(SUMMED_BYTES)) return undefined
  return { length: bytes.readUInt32LE(4), checksum: bytes.readUInt32LE(8) }
}

/** What was written, or undefined where the payload is something else. */
export function readPayload<T>(
  { end, read }: RecordKind<T>,
  payload: Buffer,
  { checksum }: RecordHeader,
  salt: number,
): T | undefined {
  if (crc32(payload, salt) !== checksum) return undefined
  try {
    const jsonEnd = LENGTH_BYTES + payload.readUInt32LE(0)
    const fields: unknown = JSON.parse(payload.toString('utf8', LENGTH_BYTES, jsonEnd))
    return read(fields, payload.subarray(jsonEnd, payload.length - end.length))
  } catch {
    // A damage that keeps the checksum is rare, but it must not stand in the way of what comes after.
    return undefined
  }
}

/** Whether zeros were written over a payload from its beginning on. */
export function isErased(payload: Buffer): boolean {
  return payload.length >= LENGTH_BYTES && payload.readUInt32LE(0) === 0
}
