/**
 * The layout of a record. All numbers are little-endian:
 *
 *     magic 4 · payload's length 4 · payload's CRC-32 4 · CRC-32 of these twelve bytes 4
 *     payload: length of the JSON 4 · the fields as JSON · the bytes · an end, if the kind has one
 *
 * The header has its own checksum, so that a corrupt payload costs one record, and a file can be counted from header to
 * header. Both checksums start from a salt in the file's name: senders control some of these bytes, and a forged record inside
 * a body, or an old one in a reused block, must never be accepted.
 */
import { crc32 } from 'node:zlib'

export const HEADER_BYTES = 16
const SUMMED_BYTES = 12
const LENGTH_BYTES = 4

/** Converts the values of a log, and has the marks that tell its records from those of other logs. */
export interface RecordKind<T> {
  /** Four bytes. The last is the version. */
  readonly magic: Buffer
  /** Distinguishes a corrupt record from one that was cut off inside blocks of zeros. Empty if the two need no distinction. */
  readonly end: Buffer
  write(value: T): { readonly fields: object; readonly bytes: Buffer }
  /** Restores a value. The checksum proves that `write` returned these fields. The bytes are a view of the read buffer. */
  read(fields: unknown, bytes: Buffer): T
}

export interface RecordHeader {
  /** Length of the payload. */
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

/** The header at the start of these bytes. Undefined without a valid one. */
export function readHeader(magic: Buffer, bytes: Buffer, salt: number): RecordHeader | undefined {
  if (bytes.length < HEADER_BYTES || bytes.compare(magic, 0, magic.length, 0, magic.length) !== 0) return undefined
  if (crc32(bytes.subarray(0, SUMMED_BYTES), salt) !== bytes.readUInt32LE(SUMMED_BYTES)) return undefined
  return { length: bytes.readUInt32LE(4), checksum: bytes.readUInt32LE(8) }
}

/** The stored value. Undefined if the payload is corrupt. */
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
    // Corruption that keeps the checksum is rare, but must not block the records after it.
    return undefined
  }
}

/** Whether a payload was overwritten with zeros. */
export function isErased(payload: Buffer): boolean {
  return payload.length >= LENGTH_BYTES && payload.readUInt32LE(0) === 0
}
