/** What the quarantine keeps of a request, and what each is worth: forged requests must not push real ones out. */
import type { RefusalCode } from '../public/error-table.ts'
import type { CallbackKind } from '../public/events.ts'
import type { ArrivedCallback, Captured } from '../public/callback.ts'
import { type ReadBody } from '../verify/body.ts'
import { LONGEST_LOOKED_UP } from '../verify/credentials.ts'
import { isEnough, readSignatureHeader } from '../verify/authenticate.ts'
import { isNameRefused, type NotProved } from '../verify/explain.ts'
import { isRecord } from '../runtime/values.ts'

/**
 * What a kept request can be, the most precious first:
 *
 * - `provedButStale`: the digest is right and only the signature's time is not: a wrong clock, or a replay.
 * - `unverified`: it looks like a callback, and its credentials could not be looked up.
 * - `looksLikeOurs`: it has the fields of a callback and well-formed proofs, which no live key made.
 * - `rest`: anything else, and what no key can ever prove. It leaves first.
 */
export const QUARANTINE_CLASSES = ['provedButStale', 'unverified', 'looksLikeOurs', 'rest'] as const
/**
 * What a refused request looks like, the best class first. `provedButStale`, which no stranger can make, has a budget of its
 * own; the others share one, which `rest` leaves first.
 */
export type QuarantineClass = (typeof QUARANTINE_CLASSES)[number]

/** One whose bytes are those that were sent, so that it can still be proved. Of its address only the network is kept. */
export interface ExactCallback extends ArrivedCallback {
  readonly captured: Extract<Captured, { readonly kind: 'exact' }>
}

/** Why it was refused; `unchecked` where its credentials could not be looked up. */
export interface Refused extends NotProved {
  readonly unchecked?: boolean
}

/** What is known of a kept request beside its bytes: plain, and safe to write down. */
export interface Standing {
  readonly class: QuarantineClass
  /** True where no proof was tried yet, because the credentials could not be looked up. */
  readonly unchecked: boolean
  /** Why it was refused. */
  readonly code: RefusalCode
  /** How far its signature's time is behind our clock, where its digest is right. */
  readonly offsetSeconds: number | undefined
  /** The project that the body names, unless the name is longer than any that is looked up. */
  readonly project: string | undefined
}

export interface KeptRequest extends Standing {
  /** SHA-256 of the body, in hexadecimal digits. */
  readonly id: string
  /** Its place in the order of arrival. */
  readonly sequence: number
  readonly callback: ExactCallback
}

/** The request as far as it can be kept: a body that was parsed before us, or has nothing in it, proves nothing later. */
export function keepable(callback: ArrivedCallback): ExactCallback | undefined {
  const { captured, signatures } = callback
  if (captured.kind !== 'exact') return undefined
  if (captured.bytes.length === 0 && typeof readSignatureHeader(signatures) !== 'object') return undefined
  return { ...callback, captured, remoteAddress: networkOf(callback.remoteAddress) }
}

export function standingOf(callback: ExactCallback, body: ReadBody, refused: Refused): Standing {
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

function classOf(callback: ExactCallback, body: ReadBody, refused: Refused): QuarantineClass {
  // No callback of the service has the message id of a probe, and no key proves what is refused by its name.
  if (body.probeId !== undefined || isNameRefused(refused)) return 'rest'
  if (refused.offsetSeconds !== undefined) return 'provedButStale'
  if (!hasKnownFields(body, callback.kind)) return 'rest'
  if (refused.isHalfProved !== true && !isProvable(callback, body)) return 'rest'
  return refused.unchecked === true ? 'unverified' : 'looksLikeOurs'
}

/** Contract, service.md#events: a report names its message; of other callbacks only the project is known. */
function hasKnownFields({ fields }: ReadBody, kind: CallbackKind | undefined): boolean {
  if (fields === undefined) return false
  const isReport = isRecord(fields['statuses']) || Object.hasOwn(fields, 'messageId')
  const namesProject = typeof fields['project'] === 'string'
  if (kind === 'status') return isReport
  return kind === undefined ? isReport || namesProject : namesProject
}

/** Whether it has the proofs that its policy needs, well-formed: some pair may prove it. */
function isProvable({ signatures, policy }: ExactCallback, { fields }: ReadBody): boolean {
  const authKey = fields?.['authKey']
  const signed = typeof readSignatureHeader(signatures) === 'object'
  return isEnough(policy, { signed, keyed: typeof authKey === 'string' && authKey !== '' })
}

/**
 * Where a request came from, as far as strangers cannot choose it: an IPv4 address as it is; of an IPv6 address the first 64 bits, for whoever has one has all that begin so. Takes its own
 * answers again.
 */
export function networkOf(remoteAddress: string | undefined): string | undefined {
  if (remoteAddress === undefined || !remoteAddress.includes(':') || remoteAddress.endsWith('/64')) return remoteAddress
  const dotted = remoteAddress.slice(remoteAddress.lastIndexOf(':') + 1)
  if (dotted.includes('.') && remoteAddress.toLowerCase().startsWith('::ffff:')) return dotted
  const [head = '', tail] = remoteAddress.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  while (tail !== undefined && groups.length + after.length < 8) groups.push('0')
  return `${[...groups, ...after].slice(0, 4).join(':')}::/64`
}
