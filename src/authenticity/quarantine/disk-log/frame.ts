/** A kept request as a record of the disk log: see process-folder/frame.ts. Its bytes are the body as it came. */
import { decode, encode, readFrameHeader, type FrameHeader } from '../../../process-folder/frame.ts'
import type { KeptRequest } from '../request.ts'

/** "mq" between a byte that no UTF-8 has and the version. */
export const MAGIC = Buffer.from([0xf5, 0x6d, 0x71, 0x01])

export type Remembered = Omit<KeptRequest, 'id'>

export function encodeFrame({ id: _, callback, ...standing }: KeptRequest, salt: number): Buffer {
  const { captured, ...rest } = callback
  const { bytes, decoded } = captured
  return encode(MAGIC, { fields: { ...standing, callback: { ...rest, decoded } }, bytes }, salt)
}

export function readHeader(bytes: Buffer, salt: number): FrameHeader | undefined {
  return readFrameHeader(MAGIC, bytes, salt)
}

/** The request of a payload, or undefined where it is not what was written. Its body is a part of `payload`. */
export function decodePayload(payload: Buffer, header: FrameHeader, salt: number): Remembered | undefined {
  return decode(payload, header, salt, (written, bytes) => {
    // What encodeFrame wrote, as the checksum says.
    const fields = written as Omit<Remembered, 'callback'> & {
      readonly callback: Omit<Remembered['callback'], 'captured'> & { readonly decoded: boolean }
    }
    const { decoded, ...rest } = fields.callback
    return { ...fields, callback: { ...rest, captured: { kind: 'exact', decoded, bytes } } }
  })
}
