/** An event as a record of the spool: see process-folder/frame.ts. Behind its bytes stands an end mark. */
import { decode, encode, readFrameHeader, type FrameHeader } from '../../process-folder/frame.ts'
import type { NewEvent } from '../store.ts'

/** "mw" between a byte that no UTF-8 has and the version. */
export const MAGIC = Buffer.from([0xf5, 0x6d, 0x77, 0x01])
/** Tells a record that was damaged from one whose end was never written into blocks that were set aside as zeros. */
const END_MARK = Buffer.from([0x0a])

export function encodeFrame({ raw, ...fields }: NewEvent, salt: number): Buffer {
  return encode(MAGIC, { fields, bytes: raw, end: END_MARK }, salt)
}

export function readHeader(bytes: Buffer, salt: number): FrameHeader | undefined {
  return readFrameHeader(MAGIC, bytes, salt)
}

/** The event of a payload, or undefined where it is not what was written. Its bytes are a copy. */
export function decodePayload(payload: Buffer, header: FrameHeader, salt: number): NewEvent | undefined {
  return decode(payload, header, salt, (fields, rest) => {
    // What encodeFrame wrote, as the checksum says.
    return { ...(fields as Omit<NewEvent, 'raw'>), raw: Buffer.from(rest.subarray(0, -END_MARK.length)) }
  })
}

/** Whether the write of a payload stopped before its end. */
export function lacksEnd(payload: Buffer): boolean {
  return payload.at(-1) === 0
}
