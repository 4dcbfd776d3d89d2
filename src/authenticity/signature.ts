/**
 * The `X-Service-Signature` header: `t=<unix_seconds>,v1=<hex_digest>`, an HMAC-SHA256 over `t`, a period and the exact
 * body. Contract, "Callback authenticity".
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

export type MalformedSignature = 'signature_malformed' | 'signature_milliseconds'

/** Reads the header value by hand, in one pass and without a pattern that could backtrack. */
function parseSignature(value: string): ParsedSignature | MalformedSignature {
  if (value.length > LONGEST_HEADER) return 'signature_malformed'
  let timestampText: string | undefined
  let digestsSeen = 0
  const digests: Buffer[] = []
  for (let start = 0; start <= value.length;) {
    const comma = value.indexOf(',', start)
    const end = comma === -1 ? value.length : comma
    // A proxy that folds lists may put white space after a comma, and only there.
    if (start > 0 && isBlank(value.charCodeAt(start))) start += 1
    const item = value.slice(start, end)
    const equals = item.indexOf('=')
    if (equals <= 0 || hasBlank(item)) return 'signature_malformed'
    const key = item.slice(0, equals)
    const text = item.slice(equals + 1)
    if (key === 't') {
      if (timestampText !== undefined) return 'signature_malformed'
      timestampText = text
    } else if (key === 'v1') {
      digestsSeen += 1
      if (digestsSeen <= MOST_DIGESTS && isLowercaseHexDigest(text)) digests.push(Buffer.from(text, 'hex'))
    }
    start = end + 1
  }
  if (timestampText === undefined || !isDecimal(timestampText)) return 'signature_malformed'
  if (timestampText.length > 12) return 'signature_milliseconds'
  if (digests.length === 0) return 'signature_malformed'
  return { timestampText, timestamp: Number(timestampText), digests }
}

/** What the header of a request is worth before any key is tried; undefined where there is none. */
export type SignatureHeader = ParsedSignature | MalformedSignature | undefined

/** Reads the header's values, as received. More than one header is malformed, even where all of them are right. */
export function readSignatureHeader(values: readonly string[]): SignatureHeader {
  const [value] = values
  if (value === undefined) return undefined
  return values.length > 1 ? 'signature_malformed' : parseSignature(value)
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

/** Contract, "Limits": more than 300 s from our own clock, in either direction, is refused; whole seconds count. */
export function isStale(signature: ParsedSignature, nowMs: number, toleranceSeconds: number): boolean {
  return Math.abs(clockOffsetSeconds(signature, nowMs)) > toleranceSeconds
}

/** How far `t` is behind our clock, in whole seconds. */
export function clockOffsetSeconds(signature: ParsedSignature, nowMs: number): number {
  return Math.floor(nowMs / 1_000) - signature.timestamp
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function hasBlank(text: string): boolean {
  return text.includes(' ') || text.includes('\t')
}

/** Decimal digits only, at least one, and no leading zero: `Number` alone would take `1e9`, `0x10` and `+1`. */
function isDecimal(text: string): boolean {
  if (text.length === 0 || text.charCodeAt(0) === 0x30) return false
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code < 0x30 || code > 0x39) return false
  }
  return true
}

/** Checked before decoding, because `Buffer.from(text, 'hex')` silently stops at the first wrong character. */
function isLowercaseHexDigest(text: string): boolean {
  return text.length === 64 && /^[0-9a-f]{64}$/.test(text)
}
