/**
 * Decides whether the service sent a callback: checks the signature and the authKey, applies the proof table, and finds the
 * project. Contract, service.md#callback-authenticity.
 *
 * The `X-Service-Signature` header is `t=<unix_seconds>,v1=<hex_digest>`, an HMAC-SHA256 over `t`, a period and the exact body.
 */
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { ArrivedCallback, ProofPolicy } from '../public/callback.ts'
import type { EventProof } from '../public/events.ts'
import type { ReadBody } from './body.ts'
import { MAX_PAIRS, type CredentialsSource, type Pairs, type LivePair } from './credentials.ts'
import { explainRefusal, type NotProved } from './explain.ts'

export interface Proved {
  readonly proved: true
  readonly proof: Exclude<EventProof, 'none'>
  readonly project: string | undefined
  /** The pairs that were tried. */
  readonly pairs: readonly LivePair[]
  /** The signature's `t`, if the signature is valid. Chat-app callbacks carry no other time. */
  readonly signedAt: number | undefined
  /** The authKeys to mask, in UTF-8. */
  readonly secrets: readonly Buffer[]
  /** What is wrong with the signature, if the authKey alone proved the callback and the project has a secret to verify it with. */
  readonly flaw: SignatureFlaw | undefined
}

/** `absent`: the policy does not require one. */
export type SignatureFlaw = 'absent' | 'malformed' | 'mismatch'

export type PairsFor = (project: string | undefined) => Pairs | Promise<Pairs>

/**
 * The pairs that may prove a callback of this project. Rejects with a `MessagingWebhooksError` if the lookup fails. An
 * impossible project name is not a failure, because a sender's text alone must not look like an outage.
 */
export function pairsFor(
  { fixed, byName, lookUp }: CredentialsSource,
  project: string | undefined,
): ReturnType<PairsFor> {
  if (lookUp !== undefined) return lookUp(project)
  return project === undefined || byName === undefined ? fixed : (byName.get(project) ?? [])
}

type Evidence = Pick<ArrivedCallback, 'signatures' | 'captured' | 'policy' | 'arrivedAtMs'>

/** Checks both proofs against every live pair, and decides by the proof table. */
export function prove(
  { signatures, captured, policy, arrivedAtMs }: Evidence,
  body: ReadBody,
  pairs: Pairs,
  toleranceSeconds: number,
): Proved | NotProved {
  if (typeof pairs === 'string') return { proved: false, code: pairs }
  if (pairs.length === 0) {
    const detail = body.project === undefined ? 'The body names no project.' : undefined
    return { proved: false, code: 'project_unknown', detail }
  }

  const header = readSignatureHeader(signatures)
  const parsed = typeof header === 'object' ? header : undefined
  // Contract, service.md#limits: a time more than 300 s off, in either direction, is refused. Compare whole seconds.
  const offsetSeconds = parsed === undefined ? 0 : Math.floor(arrivedAtMs / 1_000) - parsed.timestamp
  // Also stale if the clock returns no number.
  const isStale = !(Math.abs(offsetSeconds) <= toleranceSeconds)
  // Without the exact bytes no signature can be checked.
  const isExact = captured.kind === 'exact'
  const { byProject, secrets } = tryPairs(pairs, isExact ? parsed : undefined, body, arrivedAtMs)

  let first: Found | undefined
  for (const found of byProject) {
    // The contract refuses a stale `t`, whatever else is valid.
    if (isStale || !isEnough(policy, found)) continue
    if (first !== undefined) return { proved: false, code: 'project_ambiguous' }
    first = found
  }
  if (first === undefined) {
    const refused = explainRefusal({
      header,
      isExact,
      policy,
      candidate: body.fields?.['authKey'],
      anySigned: byProject.some(({ signed }) => signed),
      anyKeyed: byProject.some(({ keyed }) => keyed),
      offsetSeconds: isStale ? offsetSeconds : undefined,
    })
    return { ...refused, pairs }
  }
  const { owner, signed, keyed, hasSecret } = first
  return {
    proved: true,
    proof: signed && keyed ? 'both' : signed ? 'signature' : 'authKey',
    project: owner ?? body.project,
    pairs,
    signedAt: signed ? parsed?.timestamp : undefined,
    secrets,
    flaw: hasSecret && !signed ? flawOf(header, isExact, policy) : undefined,
  }
}

interface Found {
  readonly owner: string | undefined
  signed: boolean
  keyed: boolean
  /** Whether a live pair has a signing secret. */
  hasSecret: boolean
}

const SMALL_BODY_BYTES = 1_024
const MAX_HASHED_BYTES = MAX_PAIRS * 256 * 1_024

/** Tries the authKeys and digests against these pairs. Pairs of one project are adjacent. */
function tryPairs(pairs: readonly LivePair[], signature: ParsedSignature | undefined, body: ReadBody, nowMs: number) {
  const candidate = body.fields?.['authKey']
  // Only a non-empty string can be a key. Nothing is coerced.
  const candidateKey = typeof candidate === 'string' && candidate !== '' ? Buffer.from(candidate) : undefined
  const secrets: Buffer[] = []
  const byProject: Found[] = []
  let found: Found | undefined
  // Without a project name, every project's pairs are tried. Limit the work for a forged body of 256 KiB.
  let untried = Math.max(MAX_PAIRS, Math.floor(MAX_HASHED_BYTES / Math.max(body.bytes.length, SMALL_BODY_BYTES)))
  for (const { project: owner, secretKey, authKey, notAfterMs } of pairs) {
    if (nowMs > notAfterMs) continue
    if (untried === 0) break
    untried -= 1
    if (found === undefined || found.owner !== owner) {
      found = { owner, signed: false, keyed: false, hasSecret: false }
      byProject.push(found)
    }
    found.hasSecret ||= secretKey !== undefined
    if (signature !== undefined && secretKey !== undefined && !found.signed)
      found.signed = signatureHolds(signature, secretKey, body.bytes)
    if (authKey === undefined) continue
    // Constant time, except for the length. Contract, service.md#webhook-security-pair.
    if (!found.keyed && candidateKey?.length === authKey.length) found.keyed = timingSafeEqual(candidateKey, authKey)
    secrets.push(authKey)
  }
  return { byProject, secrets }
}

/**
 * The proof table. Under `either`, a wrong digest or a malformed header is accepted beside a valid authKey: refusing it would
 * gain nothing, because a forger could omit the header.
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

function flawOf(header: SignatureHeader, isExact: boolean, policy: ProofPolicy): SignatureFlaw | undefined {
  // With the policy `authKey`, the user expects no signature.
  if (header === undefined) return policy === 'either' ? 'absent' : undefined
  if (!isExact) return undefined
  return typeof header === 'string' ? 'malformed' : 'mismatch'
}

/** Longer headers are malformed. The header of the service has about 80 characters. */
const LONGEST_HEADER = 4_096
/** Maximum number of digests to compare, which bounds the work of a header. */
const MAX_DIGESTS = 5

export interface ParsedSignature {
  /** The exact text of `t`, which the HMAC covers. */
  readonly timestampText: string
  readonly timestamp: number
  /** The well-formed `v1` digests, as bytes. */
  readonly digests: readonly Buffer[]
}

/** The header before any key is tried. */
type SignatureHeader = ParsedSignature | 'signature_malformed' | 'signature_milliseconds' | undefined

/** Decimal digits without a leading zero. `Number` alone would accept `1e9`, `0x10` and `+1`. */
const DECIMAL = /^[1-9][0-9]*$/
/** Checked before decoding, because `Buffer.from(text, 'hex')` silently stops at an invalid character. */
const LOWERCASE_HEX_DIGEST = /^[0-9a-f]{64}$/
/** A proxy that folds header lists may insert these after a comma, and only there. */
const BLANKS = /[ \t]/

/** Parses the header's values in one pass, without backtracking. More than one header is malformed, even if each is valid. */
export function readSignatureHeader(values: readonly string[]): SignatureHeader {
  const value = values[0]
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
      if (digestsSeen <= MAX_DIGESTS && LOWERCASE_HEX_DIGEST.test(text)) digests.push(Buffer.from(text, 'hex'))
    }
    start = end + 1
  }
  if (timestampText === undefined || !DECIMAL.test(timestampText)) return 'signature_malformed'
  if (timestampText.length > 12) return 'signature_milliseconds'
  if (digests.length === 0) return 'signature_malformed'
  return { timestampText, timestamp: Number(timestampText), digests }
}

/** Whether one of the header's digests is valid under this key. Compares in constant time. */
export function signatureHolds(signature: ParsedSignature, key: KeyObject, body: Uint8Array): boolean {
  // Digest to text first: a digest in a Buffer allocates memory that costs as much as the digest itself.
  const hex = createHmac('sha256', key).update(`${signature.timestampText}.`).update(body).digest('hex')
  const expected = Buffer.from(hex, 'hex')
  let holds = false
  for (const digest of signature.digests) if (timingSafeEqual(digest, expected)) holds = true
  return holds
}
