/** Did the service send this? The proof table, and who is proved by it. Contract, "Callback authenticity". */
import { timingSafeEqual } from 'node:crypto'
import type { ProofPolicy } from '../callback.ts'
import type { Proof } from '../events.ts'
import type { ReadBody } from './body.ts'
import { MOST_PAIRS } from './credentials.ts'
import type { LivePair } from './pair.ts'
import { explainRefusal, type NotProved } from './explain.ts'
import { isAccepted, type SignatureState } from './proof-table.ts'
import { clockOffsetSeconds, isStale, signatureHolds, type SignatureHeader } from './signature.ts'

interface ProofInput {
  readonly header: SignatureHeader
  readonly body: ReadBody
  /** Why the bytes are not those that were sent, so that no signature can be checked over them. */
  readonly inexact: 'body_already_parsed' | undefined
  readonly policy: ProofPolicy
  readonly toleranceSeconds: number
  readonly nowMs: number
}

export interface Proved {
  readonly proved: true
  readonly proof: Proof
  readonly project: string | undefined
  /** The signature's `t`, where the signature holds: the time that chat-app callbacks do not carry themselves. */
  readonly signedAt: number | undefined
  /** The authKeys that must not go further, in UTF-8. */
  readonly secrets: readonly Buffer[]
  /** A header stood there and did not hold; the authKey did. */
  readonly ignored: string | undefined
}

/** The project that the body names. */
export function namedProject(body: ReadBody): string | undefined {
  const project = body.fields?.['project']
  return typeof project === 'string' && project !== '' ? project : undefined
}

/** What holds under the pairs of one project. */
interface Found {
  readonly owner: string | undefined
  signed: boolean
  keyed: boolean
}

/** Checks both proofs under every live pair and decides by the table. The pairs of a project stand side by side. */
export function prove(input: ProofInput, pairs: readonly LivePair[], project: string | undefined): Proved | NotProved {
  const { header, body, inexact, policy, nowMs } = input
  if (pairs.length === 0) return { proved: false, code: 'project_unknown' }

  const candidate = body.fields?.['authKey']
  const candidateKey = readCandidate(candidate)
  const parsed = typeof header === 'object' ? header : undefined
  const stale = parsed !== undefined && isStale(parsed, nowMs, input.toleranceSeconds)
  const secrets: Buffer[] = []
  const byProject: Found[] = []
  let found: Found | undefined
  let untried = mostPairs(body.bytes.length)
  for (const { project: owner, secretKey, authKey, notAfterMs } of pairs) {
    if (nowMs > notAfterMs) continue
    if (untried === 0) break
    untried -= 1
    if (found === undefined || found.owner !== owner) byProject.push((found = { owner, signed: false, keyed: false }))
    if (parsed !== undefined && inexact === undefined && secretKey !== undefined && !found.signed)
      found.signed = signatureHolds(parsed, secretKey, body.bytes)
    if (authKey === undefined) continue
    if (!found.keyed) found.keyed = authKeyHolds(candidateKey, authKey)
    secrets.push(authKey)
  }

  let first: Found | undefined
  for (const one of byProject) {
    if (!isAccepted(policy, stateOf(header, stale, one.signed), one.keyed)) continue
    if (first !== undefined) return { proved: false, code: 'project_ambiguous' }
    first = one
  }
  if (first === undefined) {
    return explainRefusal({
      header,
      inexact,
      policy,
      candidate,
      anySigned: byProject.some(({ signed }) => signed),
      anyKeyed: byProject.some(({ keyed }) => keyed),
      offsetSeconds: stale ? clockOffsetSeconds(parsed, nowMs) : undefined,
    })
  }
  const { owner, signed, keyed } = first
  return {
    proved: true,
    proof: signed && keyed ? 'both' : signed ? 'signature' : 'authKey',
    project: owner ?? project,
    signedAt: signed ? parsed?.timestamp : undefined,
    secrets,
    ignored: !signed && header !== undefined && inexact === undefined ? describeIgnored(header) : undefined,
  }
}

/** The bytes of what the body has for a key. Only a non-empty string can be one: nothing is coerced. */
function readCandidate(candidate: unknown): Buffer | undefined {
  return typeof candidate === 'string' && candidate !== '' ? Buffer.from(candidate) : undefined
}

/** Whether that is the key; in constant time, but for its length. Contract, "Webhook security pair". */
function authKeyHolds(candidate: Buffer | undefined, authKey: Buffer): boolean {
  return candidate?.length === authKey.length && timingSafeEqual(candidate, authKey)
}

function stateOf(header: SignatureHeader, stale: boolean, signed: boolean): SignatureState {
  if (stale) return 'stale'
  if (signed) return 'holds'
  return header === undefined ? 'absent' : 'wrong'
}

/**
 * How many pairs a request may be tried with: a body that names no project may be of any, but a forged one of 256 KiB must
 * not cost more than sixteen of its kind.
 */
function mostPairs(bodyBytes: number): number {
  return Math.max(MOST_PAIRS, Math.floor(MOST_HASHED_BYTES / Math.max(bodyBytes, SMALL_BODY_BYTES)))
}

const SMALL_BODY_BYTES = 1_024
const MOST_HASHED_BYTES = MOST_PAIRS * 256 * 1_024

function describeIgnored(header: NonNullable<SignatureHeader>): string {
  return typeof header === 'string' ? 'The header is malformed.' : 'The digest matches none of the live secrets.'
}
