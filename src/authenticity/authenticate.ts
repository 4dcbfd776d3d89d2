/** Did the service send this? The proof table, and who is proved by it. Contract, service.md#callback-authenticity. */
import { timingSafeEqual } from 'node:crypto'
import type { ArrivedCallback, ProofPolicy } from '../callback.ts'
import type { Proof } from '../events.ts'
import type { ReadBody } from './body.ts'
import { MOST_PAIRS, type Pairs } from './credentials.ts'
import { explainRefusal, type NotProved } from './explain.ts'
import type { LivePair } from './pair.ts'
import { readSignatureHeader, signatureHolds, type ParsedSignature, type SignatureHeader } from './signature.ts'

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
