/**
 * Reads a body as far as verification needs it, and masks the secret. After this stage nothing carries an authKey: not the
 * payload, not the raw bytes, not an error.
 */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { CallbackProblem } from '../public/events.ts'
import { isRecord, textOf } from '../runtime/values.ts'
import { scanJson, type Span } from './json-scan.ts'

const DEEPEST = 64
const MAX_VALUES = 10_000
/** Shorter keys would occur by chance, and masking them by value would corrupt the body. */
const SHORTEST_SECRET_BYTES = 8
/** A key of the service has this length. An unknown key that does not end is masked up to here, or to the longest live key. */
const USUAL_KEY_BYTES = 64
/** Names of no content encoding: the standard one, and those of charsets and of mail that are sent by mistake. */
const PLAIN_ENCODING = /^(?:identity|none|binary|[78]bit|utf-?8)?$/
const ASTERISK = 0x2a
const BACKSLASH = 0x5c
const QUOTE = 0x22
const DIGIT_ONE = 0x31
const LETTER_U = 0x75

export const PROBE_PREFIX = 'messaging-webhooks-doctor.'
/**
 * The message id of a doctor's probe: a nonce, and an HMAC under each half of the pair. The service never creates such an id.
 */
export const PROBE_ID = /^messaging-webhooks-doctor\.(?<nonce>[0-9a-f]{32})\.(?<tags>[0-9a-f]{64}(?:\.[0-9a-f]{64})?)$/

export interface ReadBody {
  readonly bytes: Buffer
  /** The parsed object with its authKey, or why it could not be read. */
  readonly fields: Readonly<Record<string, unknown>> | undefined
  readonly problem: CallbackProblem | undefined
  readonly project: string | undefined
  /** Positions of authKeys in the bytes. */
  readonly authKeys: readonly Span[]
  readonly duplicateKey: boolean
  /** The message id, if it has the form of a probe's. Anyone can write one; only its HMACs make the callback a probe. */
  readonly probeId: string | undefined
}

interface SentBody {
  readonly captured: { readonly bytes: Buffer; readonly decoded: boolean }
  readonly contentEncoding: string | undefined
}

/** Reads a body as it was sent. A compressed body is never inflated, so its fields are not read. */
export function readSentBody({ captured, contentEncoding }: SentBody): ReadBody {
  const body = readBody(captured.bytes)
  const isPlain = contentEncoding === undefined || PLAIN_ENCODING.test(contentEncoding)
  // The bytes decide: a parser or a proxy may have inflated them, or only added the header.
  if (isPlain || captured.decoded || body.fields !== undefined) return body
  return { ...body, problem: 'content_encoding' }
}

function unreadable(bytes: Buffer, problem: CallbackProblem, authKeys: readonly Span[] = []): ReadBody {
  return { bytes, fields: undefined, problem, project: undefined, authKeys, duplicateKey: false, probeId: undefined }
}

/** Parses the bytes as JSON in UTF-8 and skips one byte order mark. Never throws and never quotes the body. */
function readBody(bytes: Buffer): ReadBody {
  if (bytes.length === 0) return unreadable(bytes, 'empty_body')
  const { depth, values, authKeys, duplicateKey } = scanJson(bytes)
  if (depth > DEEPEST) return unreadable(bytes, 'too_deep', authKeys)
  if (values > MAX_VALUES) return unreadable(bytes, 'too_many_values', authKeys)
  let value: unknown
  try {
    // Decoding invalid UTF-8 is slow, so first check that it is JSON at all. JSON's syntax is ASCII, so any ASCII-compatible
    // decoding shows that.
    if (!isUtf8(bytes)) JSON.parse(textOf(bytes, 'latin1'))
    value = JSON.parse(textOf(bytes))
  } catch {
    return unreadable(bytes, 'not_json', authKeys)
  }
  if (!isRecord(value)) return unreadable(bytes, isJsonText(value) ? 'double_encoded' : 'not_an_object', authKeys)
  const { project: named, messageId } = value
  const project = typeof named === 'string' && named !== '' ? named : undefined
  const probeId = typeof messageId === 'string' && PROBE_ID.test(messageId) ? messageId : undefined
  return { bytes, fields: value, problem: undefined, project, authKeys, duplicateKey, probeId }
}

/** Reads a body that an earlier parser turned into an object. Serialises the object, because the bytes are gone. */
export function readParsedBody(value: unknown): ReadBody | undefined {
  if (!isRecord(value)) return undefined
  try {
    return readBody(Buffer.from(JSON.stringify(value)))
  } catch {
    // Too deep to serialise. Its signature could not have been checked either.
    return undefined
  }
}

interface MaskedBody {
  /** A copy of the bytes with every authKey overwritten at equal length, so that offsets stay valid. */
  readonly bytes: Buffer
  /** The fields that may be read from it, with the authKey removed or masked. */
  readonly body: ReadBody
  /** The result of `payloadIn` for these bytes, if it is already known. */
  readonly payload: Record<string, unknown> | undefined
}

/** Masks authKeys found by name, and all live `secrets`, as text or UTF-8, found by value anywhere. */
export function maskSecrets(body: ReadBody, secrets: readonly (string | Buffer)[]): MaskedBody {
  const bytes = Buffer.from(body.bytes)
  const longest = Math.max(USUAL_KEY_BYTES, ...secrets.map((secret) => Buffer.byteLength(secret)))
  for (const span of body.authKeys) maskValue(bytes, span, span.isClosed ? Infinity : longest)
  let found = false
  for (const secret of secrets) {
    if (maskByValue(bytes, typeof secret === 'string' ? Buffer.from(secret) : secret)) found = true
    // A body that is not JSON may be in another encoding, in which names were not found.
    if (body.fields === undefined) for (const wide of inWiderEncodings(secret.toString())) maskByValue(bytes, wide)
  }
  if (bytes.includes(BACKSLASH) && maskEscaped(bytes, secrets)) found = true
  if (found) {
    // A secret quoted in another field must be masked there too. Digests still cover what was sent.
    const { fields, problem, project } = readBody(bytes)
    return { bytes, body: { ...body, fields, problem: body.problem ?? problem, project }, payload: undefined }
  }
  const { fields, authKeys } = body
  // A nested authKey is masked in the bytes but still present in the parsed fields.
  if (fields === undefined || authKeys.length !== (Object.hasOwn(fields, 'authKey') ? 1 : 0))
    return { bytes, body, payload: undefined }
  const { authKey: _, ...payload } = fields
  return { bytes, body, payload }
}

/**
 * SHA-256 of the body without its authKeys, so that a key rotation does not create a second event from the same callback. Only a
 * whole string can be a key: anything else may be the rest of the body, which tells it from others.
 */
export function digestWithoutAuthKeys(body: ReadBody): Buffer {
  const hash = createHash('sha256')
  let from = 0
  for (const { start, end, isClosed } of body.authKeys) {
    if (!isClosed || body.bytes[start] !== QUOTE) continue
    hash.update(body.bytes.subarray(from, start))
    from = end
  }
  return hash.update(body.bytes.subarray(from)).digest()
}

function isJsonText(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    return isRecord(JSON.parse(value))
  } catch {
    return false
  }
}

/**
 * Overwrites string contents and digits of a value, and keeps it valid JSON. Ends after `most` characters; an escape is one.
 */
function maskValue(bytes: Buffer, { start, end }: Pick<Span, 'start' | 'end'>, most = Infinity): void {
  let inString = false
  let left = most
  for (let index = start; index < end && left > 0; index += 1) {
    const byte = bytes[index]
    if (byte === undefined) return
    if (inString) {
      left -= 1
      const escaped = byte === BACKSLASH
      if (byte === 0x22) {
        inString = false
        continue
      }
      bytes[index] = ASTERISK
      if (escaped && index + 1 < end) {
        index += 1
        if (bytes[index] === LETTER_U) left += 4
        bytes[index] = ASTERISK
      }
    } else if (byte === 0x22) {
      inString = true
    } else if (byte >= 0x30 && byte <= 0x39) {
      bytes[index] = DIGIT_ONE
    }
  }
}

/** Text in UTF-16 and UTF-32, in both byte orders. */
function inWiderEncodings(text: string): readonly Buffer[] {
  const utf16 = Buffer.from(text, 'utf16le')
  const utf32 = Buffer.from(Uint32Array.from(text, (character) => character.codePointAt(0) ?? 0).buffer)
  return [utf16, Buffer.from(utf16).swap16(), utf32, Buffer.from(utf32).swap32()]
}

/** Masks JSON strings that contain a secret in escaped form, such as `\/` for a slash. Returns whether there were any. */
function maskEscaped(bytes: Buffer, secrets: readonly (string | Buffer)[]): boolean {
  const texts = secrets.map((secret) => secret.toString()).filter((text) => text.length >= SHORTEST_SECRET_BYTES)
  let found = false
  for (let start = bytes.indexOf(QUOTE); start !== -1;) {
    let end = start + 1
    let hasEscape = false
    while (end < bytes.length && bytes[end] !== QUOTE) {
      if (bytes[end] === BACKSLASH) {
        hasEscape = true
        end += 1
      }
      end += 1
    }
    if (hasEscape) {
      const read = unescaped(bytes.toString('utf8', start, end + 1))
      if (texts.some((text) => read.includes(text))) {
        maskValue(bytes, { start, end: end + 1 })
        found = true
      }
    }
    start = bytes.indexOf(QUOTE, end + 1)
  }
  return found
}

function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return ''
  }
}

/** Returns whether the secret was found. */
function maskByValue(bytes: Buffer, secret: Buffer): boolean {
  if (secret.length < SHORTEST_SECRET_BYTES || !bytes.includes(secret)) return false
  // A key of digits may appear as a JSON number. Replace it by digits, so that the body stays valid.
  const filler = secret.every((byte) => byte >= 0x30 && byte <= 0x39) ? DIGIT_ONE : ASTERISK
  for (let at = bytes.indexOf(secret); at !== -1; at = bytes.indexOf(secret, at + secret.length))
    bytes.fill(filler, at, at + secret.length)
  return true
}
