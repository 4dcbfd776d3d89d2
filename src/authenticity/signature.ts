/**
 * The `X-Service-Signature` header: `t=<unix_seconds>,v1=<hex_digest>`, an HMAC-SHA256 over `t`, a period and the exact
 * body. Contract, service.md#callback-authenticity.
 */
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

/** A longer header is no signature; the service's own has about 80 characters. */
const LONGEST_HEADER = 4_096
/** More digests than this are not looked at, so that a header cannot ask for more work. */
const MOST_DIGESTS = 5

export interface ParsedSignature {
  /** The header's own text of `t`, over which the HMAC is made. */
  readonly timestampText: string
  readonly timestamp: number
  /** The well-formed `v1` digests, in bytes. */
  readonly digests: readonly Buffer[]
}

/** What the header of a request is worth before any key is tried; undefined where there is none. */
export type SignatureHeader = ParsedSignature | 'signature_malformed' | 'signature_milliseconds' | undefined

/** Decimal digits only, at least one, and no leading zero: `Number` alone would take `1e9`, `0x10` and `+1`. */
const DECIMAL = /^[1-9][0-9]*$/
/** Checked before decoding, because `Buffer.from(text, 'hex')` silently stops at the first wrong character. */
const LOWERCASE_HEX_DIGEST = /^[0-9a-f]{64}$/
/** A proxy that folds lists may put one of these after a comma, and only there. */
const BLANKS = /[ \t]/

/**
 * Reads the header's values, as received: in one pass, and without a pattern that could backtrack. More than one header is
 * malformed, even where all of them are right.
 */
export function readSignatureHeader(values: readonly string[]): SignatureHeader {
  const [value] = values
  if (value === undefined) return undefined
  if (values.length > 1 || value.length > LONGEST_HEADER) return 'signature_malformed'
  let timestampText: string | undefined
  let digestsSeen = 0
  const digests: Buffer[] = []
  for (let start = 0; start <= value.length;) {
    const comma = value.indexOf(',', start)
    const end = comma === -1 ? value.length : comma
    if (start > 0 && BLANKS.test(value.charAt(start))) start += 1
    const item = value.slice(start, end)
    const equals = item.indexOf('=')
    if (equals <= 0 || BLANKS.test(item)) return 'signature_malformed'
    const key = item.slice(0, equals)
    const text = item.slice(equals + 1)
    if (key === 't') {
      if (timestampText !== undefined) return 'signature_malformed'
      timestampText = text
    } else if (key === 'v1') {
      digestsSeen += 1
      if (digestsSeen <= MOST_DIGESTS && LOWERCASE_HEX_DIGEST.test(text)) digests.push(Buffer.from(text, 'hex'))
    }
    start = end + 1
  }
  if (timestampText === undefined || !DECIMAL.test(timestampText)) return 'signature_malformed'
  if (timestampText.length > 12) return 'signature_milliseconds'
  if (digests.length === 0) return 'signature_malformed'
  return { timestampText, timestamp: Number(timestampText), digests }
}

/** Whether one of the header's digests is the right one under this key. Compared in constant time. */
export function signatureHolds(signature: ParsedSignature, key: KeyObject, body: Uint8Array): boolean {
  // As text first: Node gives a digest in a buffer memory of its own, which costs as much as the digest.
  const hex = createHmac('sha256', key).update(`${signature.timestampText}.`).update(body).digest('hex')
  const expected = Buffer.from(hex, 'hex')
  let holds = false
  for (const digest of signature.digests) if (timingSafeEqual(digest, expected)) holds = true
  return holds
}
