/** Decides what the quarantine keeps of a request, its class, and what it evicts. Forged requests must not displace real ones. */
import type { RefusalCode } from '../public/error-table.ts'
import type { CallbackKind } from '../public/events.ts'
import type { ArrivedCallback, Captured } from '../public/callback.ts'
import { FREED, STAYING } from '../local-file/request-table.ts'
import type { ReadBody } from '../verify/body.ts'
import { LONGEST_LOOKED_UP } from '../verify/credentials.ts'
import { isEnough, readSignatureHeader } from '../verify/authenticate.ts'
import { isNameRefused, type NotProved } from '../verify/explain.ts'
import { isRecord } from '../runtime/values.ts'

/**
 * Classes of kept requests, best first:
 *
 * - `provedButStale`: the digest is right, only the signature's time is not: a wrong clock, or a replay.
 * - `unverified`: it looks like a callback, but its credentials could not be looked up.
 * - `looksLikeOurs`: it has the fields of a callback and well-formed proofs, but no live key made them.
 * - `rest`: everything else, including requests that no key can prove. Evicted first.
 */
export const QUARANTINE_CLASSES = ['provedButStale', 'unverified', 'looksLikeOurs', 'rest'] as const
/**
 * Class of a refused request, best first. `provedButStale`, which outsiders cannot forge, has its own budget; the others share
 * one, from which `rest` is evicted first.
 */
export type QuarantineClass = (typeof QUARANTINE_CLASSES)[number]

/** A request with its original bytes, so that it can be proved later. */
export interface ExactCallback extends ArrivedCallback {
  readonly captured: Extract<Captured, { readonly kind: 'exact' }>
}

/** Why a request was refused. `unchecked`: its credentials could not be looked up. */
export interface Refusal extends NotProved {
  readonly unchecked?: boolean
}

/** Data about a kept request beyond its bytes. Contains no secrets. */
export interface Standing {
  readonly class: QuarantineClass
  /** No proof was tried, because the credentials could not be looked up. */
  readonly unchecked: boolean
  readonly code: RefusalCode
  /** How far the signature's time is behind this clock, if the digest is right. */
  readonly offsetSeconds: number | undefined
  /** The project named in the body, unless the name is too long to be looked up. */
  readonly project: string | undefined
}

export interface KeptRequest extends Standing {
  /** SHA-256 of the body, in hexadecimal digits. */
  readonly id: string
  /** Position in the order of arrival. */
  readonly sequence: number
  readonly callback: ExactCallback
}

/** Undefined for a request that cannot be proved later: a parser consumed the body, or it is empty and unsigned. */
export function keepable(callback: ArrivedCallback): ExactCallback | undefined {
  const { captured, signatures } = callback
  if (captured.kind !== 'exact') return undefined
  if (captured.bytes.length === 0 && typeof readSignatureHeader(signatures) !== 'object') return undefined
  return { ...callback, captured }
}

export function standingOf(callback: ExactCallback, body: ReadBody, refused: Refusal): Standing {
  const { code, unchecked = false, offsetSeconds } = refused
  const { project } = body
  return {
    class: classOf(callback, body, refused),
    unchecked,
    code,
    offsetSeconds,
    project: project !== undefined && project.length <= LONGEST_LOOKED_UP ? project : undefined,
  }
}

function classOf(callback: ExactCallback, body: ReadBody, refused: Refusal): QuarantineClass {
  // No key proves a request that was refused by its project name.
  if (isNameRefused(refused)) return 'rest'
  if (refused.offsetSeconds !== undefined) return 'provedButStale'
  if (!hasKnownFields(body, callback.kind)) return 'rest'
  if (refused.isHalfProved !== true && !isProvable(callback, body)) return 'rest'
  return refused.unchecked === true ? 'unverified' : 'looksLikeOurs'
}

/** Contract, service.md#events: a report names its message; other callbacks are only known to name a project. */
function hasKnownFields({ fields }: ReadBody, kind: CallbackKind | undefined): boolean {
  if (fields === undefined) return false
  const isReport = isRecord(fields['statuses']) || Object.hasOwn(fields, 'messageId')
  const namesProject = typeof fields['project'] === 'string'
  if (kind === 'status') return isReport
  return kind === undefined ? isReport || namesProject : namesProject
}

/** Whether it has the well-formed proofs that its policy requires, so that some pair may prove it. */
function isProvable({ signatures, policy }: ExactCallback, { fields }: ReadBody): boolean {
  const authKey = fields?.['authKey']
  const signed = typeof readSignatureHeader(signatures) === 'object'
  return isEnough(policy, { signed, keyed: typeof authKey === 'string' && authKey !== '' })
}

/** Every documented callback is smaller. */
const SMALL_BYTES = 4 * 1024
/** Overhead of a request beyond its bytes and texts; about 900 bytes, measured. */
const BYTES_A_REQUEST = 1_024
/** Greater than any size rank. */
const UNPROVABLE_RANK = 64

/** Maximum size of the requests that a start verifies again. */
export const BYTES_AT_START = 16 * 1024 * 1024

/**
 * The requests that a start verifies again, given by name in the order of look-ups. Current keys may prove them, if the pair was
 * rotated since. A signature that was stale on arrival stays so. `maxNames` bounds the look-ups, because senders choose the names.
 */
export function verifiableAtStart(
  byName: ReadonlyMap<string | undefined, readonly KeptRequest[]>,
  maxNames: number,
): readonly KeptRequest[] {
  const requests = [...byName.values()].slice(0, maxNames).flat()
  const likely = requests.filter(isLikelyReal)
  const candidates = [...likely, ...requests.filter((request) => !isLikelyReal(request))]
  let left = BYTES_AT_START
  return candidates.filter((request) => request.class !== 'provedButStale' && (left -= bytesOf(request)) >= 0)
}

/** Whether it looks like a callback of the service. */
export function isLikelyReal({ class: name }: KeptRequest): boolean {
  return name !== 'rest'
}

/** What a request takes of the budget. */
export function bytesOf({ callback, project }: KeptRequest): number {
  const { captured, signatures, contentEncoding } = callback
  const texts = signatures.reduce((sum, value) => sum + value.length, contentEncoding?.length ?? 0)
  return captured.bytes.length + texts + (project?.length ?? 0) + BYTES_A_REQUEST
}

/**
 * The requests to evict from a full budget, given in order of arrival: first those that no key can prove, then the largest bodies.
 * Of equal ones, the earliest three quarters stay, and then the latest.
 */
export function excessOf(requests: readonly KeptRequest[], maxBytes: number): readonly KeptRequest[] {
  let excess = requests.reduce((sum, request) => sum + bytesOf(request), -maxBytes * (1 - FREED))
  const evicted: KeptRequest[] = []
  for (const [, alike] of [...Map.groupBy(requests, rankOf)].sort(([a], [b]) => b - a)) {
    const stay = Math.floor(alike.length * STAYING)
    for (const request of [...alike.slice(stay), ...alike.slice(0, stay).reverse()]) {
      if (excess <= 0) return evicted
      excess -= bytesOf(request)
      evicted.push(request)
    }
  }
  return evicted
}

/** What is evicted first: what no key can prove, then the largest bodies. */
export function rankOf({ class: name, callback }: Pick<KeptRequest, 'class' | 'callback'>): number {
  const unprovable = name === 'rest' ? UNPROVABLE_RANK : 0
  return unprovable + Math.max(0, Math.ceil(Math.log2(callback.captured.bytes.length / SMALL_BYTES)))
}
