/**
 * Did the service send this? The signature, the proof table, and who is proved by it. Contract, service.md#callback-authenticity.
 *
 * The `X-Service-Signature` header is `t=<unix_seconds>,v1=<hex_digest>`, an HMAC-SHA256 over `t`, a period and the exact body.
 */
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { ArrivedCallback, ProofPolicy } from '../public/callback.ts'
import type { Proof } from '../public/events.ts'
import type { ReadBody } from './body.ts'
import { MOST_PAIRS, type CredentialsSource, type Pairs } from './credentials.ts'
import { explainRefusal, type NotProved } from './explain.ts'
import type { LivePair } from './pair.ts'

export interface Proved {
  readonly proved: true
  readonly proof: Exclude<Proof, 'none'>
  readonly project: string | undefined
  /** The pairs that were tried. */
  readonly pairs: readonly LivePair[]
  /** The signature's `t`, where the signature holds: the time that chat-app callbacks do not carry themselves. */
  readonly signedAt: number | undefined
  /** The authKeys that must not go further, in UTF-8. */
  readonly secrets: readonly Buffer[]
  /** A header stood there and did not hold; the authKey did. */
  readonly ignored: string | undefined
}

export type PairsFor = (project: string | undefined) => Pairs | Promise<Pairs>

/**
 * The pairs that may prove a callback of this project. Rejects with a `MessagingWebhooksError` where they cannot be had; a name that
 * nobody is asked for is no such failure, for the sender's text alone must not look like an outage.
 */
export function pairsFor(
  { fixed, byName, lookUp }: CredentialsSource,
  project: string | undefined,
): ReturnType<PairsFor> {
  if (lookUp !== undefined) return lookUp(project)
  return project === undefined || byName === undefined ? fixed : (byName.get(project) ?? [])
}

/** What of a callback tells who sent it. */
type Evidence = Pick<ArrivedCallback, 'signatures' | 'captured' | 'policy' | 'arrivedAtMs'>

/** Checks both proofs under every live pair and decides by the table. */
export function prove(
  { signatures, captured, policy, arrivedAtMs }: Evidence,
  body: ReadBody,
  pairs: Pairs,
  toleranceSeconds: number,
): Proved | NotProved {
  if (typeof pairs === 'string') return { proved: false, code: pairs }
  if (pairs.length === 0) return { proved: false, code: 'project_unknown' }

  const header = readSignatureHeader(signatures)
  const parsed = typeof header === 'object' ? header : undefined
  // Contract, service.md#limits: more than 300 s from our own clock, in either direction, is refused; whole seconds count.
  const offsetSeconds = parsed === undefined ? 0 : Math.floor(arrivedAtMs / 1_000) - parsed.timestamp
  const isStale = Math.abs(offsetSeconds) > toleranceSeconds
  // No signature can be checked over bytes that are not those that were sent.
  const isExact = captured.kind === 'exact'
  const { byProject, secrets } = tryPairs(pairs, isExact ? parsed : undefined, body, arrivedAtMs)

  let first: Found | undefined
  for (const found of byProject) {
    // A stale `t` is refused whatever else holds, because the contract says so.
    if (isStale || !isEnough(policy, found)) continue
    if (first !== undefined) return { proved: false, code: 'project_ambiguous' }
    first = found
  }
  if (first === undefined) {
    return explainRefusal({
      header,
      isExact,
      policy,
      candidate: body.fields?.['authKey'],
      anySigned: byProject.some(({ signed }) => signed),
      anyKeyed: byProject.some(({ keyed }) => keyed),
      offsetSeconds: isStale ? offsetSeconds : undefined,
    })
  }
  const { owner, signed, keyed } = first
  return {
    proved: true,
    proof: signed && keyed ? 'both' : signed ? 'signature' : 'authKey',
    project: owner ?? body.project,
    pairs,
    signedAt: signed ? parsed?.timestamp : undefined,
    secrets,
    ignored: !signed && header !== undefined && isExact ? describeIgnored(header) : undefined,
  }
}

/** What holds under the pairs of one project. */
interface Found {
  readonly owner: string | undefined
  signed: boolean
  keyed: boolean
}

const SMALL_BODY_BYTES = 1_024
const MOST_HASHED_BYTES = MOST_PAIRS * 256 * 1_024

/** What holds, and the authKeys that were tried. The pairs of a project stand side by side. */
function tryPairs(pairs: readonly LivePair[], signature: ParsedSignature | undefined, body: ReadBody, nowMs: number) {
  const candidate = body.fields?.['authKey']
  // Only a non-empty string can be a key: nothing is coerced.
  const candidateKey = typeof candidate === 'string' && candidate !== '' ? Buffer.from(candidate) : undefined
  const secrets: Buffer[] = []
  const byProject: Found[] = []
  let found: Found | undefined
  // A body that names no project may be of any, but a forged one of 256 KiB must not cost more than sixteen of its kind.
  let untried = Math.max(MOST_PAIRS, Math.floor(MOST_HASHED_BYTES / Math.max(body.bytes.length, SMALL_BODY_BYTES)))
  for (const { project: owner, secretKey, authKey, notAfterMs } of pairs) {
    if (nowMs > notAfterMs) continue
    if (untried === 0) break
    untried -= 1
    if (found === undefined || found.owner !== owner) byProject.push((found = { owner, signed: false, keyed: false }))
    if (signature !== undefined && secretKey !== undefined && !found.signed)
      found.signed = signatureHolds(signature, secretKey, body.bytes)
    if (authKey === undefined) continue
    // In constant time, but for its length. Contract, service.md#webhook-security-pair.
    if (!found.keyed && candidateKey?.length === authKey.length) found.keyed = timingSafeEqual(candidateKey, authKey)
    secrets.push(authKey)
  }
  return { byProject, secrets }
}

/**
 * The proof table. Under `either`, a wrong digest or a malformed header beside an authKey that holds is let pass: turning
 * it away would gain nothing, since a forger could leave the header out.
 */
export function isEnough(policy: ProofPolicy, { signed, keyed }: Pick<Found, 'signed' | 'keyed'>): boolean {
  switch (policy) {
    case 'either':
      return signed || keyed
    case 'signature':
      return signed
    case 'authKey':
      return keyed
    case 'both':
      return signed && keyed
  }
}

function describeIgnored(header: NonNullable<SignatureHeader>): string {
  return typeof header === 'string' ? 'The header is malformed.' : 'The digest matches none of the live secrets.'
}

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
type SignatureHeader = ParsedSignature | 'signature_malformed' | 'signature_milliseconds' | undefined

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
