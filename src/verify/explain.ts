/** Explains refusals, for the log: why verification failed, and whether this clock is wrong. The client does not see this. */
import type { RefusalCode } from '../public/error-table.ts'
import type { ProofPolicy } from '../public/callback.ts'
import { LONGEST_NAME, MessagingWebhooksError, type UnverifiedNames } from '../public/errors.ts'
import { withoutSecrets } from '../runtime/failure-text.ts'
import { isRecord } from '../runtime/values.ts'
import type { ReadBody } from './body.ts'
import type { LivePair } from './credentials.ts'

export interface NotProved {
  readonly proved: false
  readonly code: RefusalCode
  readonly detail?: string | undefined
  /** How far the header's time is behind this clock, if only the time is wrong. */
  readonly offsetSeconds?: number | undefined
  /** The pairs that were tried. */
  readonly pairs?: readonly LivePair[]
  /** Whether one proof is valid although the callback is refused: the sender then has a key of a live pair. */
  readonly isHalfProved?: boolean
}

interface FailedProof {
  /** The parsed header, or why it has no signature. Undefined without a header. */
  readonly header: object | RefusalCode | undefined
  readonly isExact: boolean
  readonly policy: ProofPolicy
  /** The `authKey` of the body, not yet checked. */
  readonly candidate: unknown
  readonly anySigned: boolean
  readonly anyKeyed: boolean
  /** How far the header's time is behind this clock, if that is too far. */
  readonly offsetSeconds: number | undefined
}

/** The receiver refuses such a name before it looks up credentials, so no key can prove the request. */
export function isNameRefused({ code }: Pick<NotProved, 'code'>): boolean {
  return code === 'project_name_too_long' || code === 'project_name_malformed'
}

export function explainRefusal(failed: FailedProof): NotProved {
  return { ...likeliestCause(failed), isHalfProved: failed.anySigned || failed.anyKeyed }
}

function likeliestCause(failed: FailedProof): NotProved {
  const { header, policy, anySigned, anyKeyed, offsetSeconds } = failed
  if (offsetSeconds !== undefined) {
    const direction = offsetSeconds > 0 ? 'behind' : 'ahead of'
    const digest = anySigned ? 'the digest is right' : 'the digest was not proved'
    return {
      proved: false,
      code: 'signature_stale',
      detail: `The header's time is ${Math.abs(offsetSeconds)} s ${direction} this clock, and ${digest}.`,
      offsetSeconds: anySigned ? offsetSeconds : undefined,
    }
  }
  if (policy === 'authKey' || (policy === 'both' && anySigned)) return explainAuthKey(failed)
  if (!failed.isExact && header !== undefined) return { proved: false, code: 'body_already_parsed' }
  if (header === undefined) {
    if (anyKeyed) return { proved: false, code: 'signature_required' }
    if (policy === 'either' && failed.candidate !== undefined) return explainAuthKey(failed)
    return { proved: false, code: 'signature_missing' }
  }
  return { proved: false, code: typeof header === 'string' ? header : 'signature_mismatch' }
}

function explainAuthKey({ candidate }: FailedProof): NotProved {
  if (candidate === undefined) return { proved: false, code: 'auth_key_missing' }
  if (typeof candidate !== 'string' || candidate === '') return { proved: false, code: 'auth_key_malformed' }
  return { proved: false, code: 'auth_key_mismatch' }
}

/** The project and the message id that an unverified body names. The body may quote a key, live or not, in any field. */
export function namesIn({ fields = {} }: Pick<ReadBody, 'fields'>, secrets: readonly string[]): UnverifiedNames {
  const { project, messageId, statuses, authKey } = fields
  const hidden = typeof authKey === 'string' && authKey !== '' ? [...secrets, authKey] : secrets
  const id = isRecord(statuses) ? statuses['message_id'] : messageId
  const [ofProject, ofMessage] = [project, typeof id === 'number' ? String(id) : id].map((name) =>
    typeof name === 'string' && name !== '' ? withoutSecrets(name, hidden).slice(0, LONGEST_NAME) : undefined,
  )
  return {
    ...(ofProject === undefined ? undefined : { project: ofProject }),
    ...(ofMessage === undefined ? undefined : { messageId: ofMessage }),
  }
}

/** Required number of signatures with different times. A replayed callback always has the same time. */
const IN_A_ROW = 5
/** Tolerance for differences in transit time. */
const AGREE_WITHIN_SECONDS = 2

/**
 * Distinguishes a wrong clock from a replay. Contract, service.md#limits: a signature more than 300 s off is refused. If
 * several valid digests in a row are off by the same amount, this machine's clock is probably wrong.
 */
export function createClockWatch(report: (error: MessagingWebhooksError) => void) {
  let row: { readonly offsetSeconds: number; readonly signedAt: Set<number> } | undefined
  let isReported = false
  const watch = {
    /** True after a signature was off, until a valid one arrives. */
    isInDoubt: false,
    /** Called for a signature with a valid digest that is off by `offsetSeconds`. */
    doubt(offsetSeconds: number, arrivedAtMs: number): void {
      watch.isInDoubt = true
      if (isReported) return
      if (row === undefined || Math.abs(offsetSeconds - row.offsetSeconds) > AGREE_WITHIN_SECONDS)
        row = { offsetSeconds, signedAt: new Set() }
      row.signedAt.add(Math.floor(arrivedAtMs / 1_000) - offsetSeconds)
      if (row.signedAt.size < IN_A_ROW) return
      isReported = true
      report(new MessagingWebhooksError('clock_wrong', describe(row.offsetSeconds)))
    },
    /** Called for a valid signature, which shows that the clock is right. */
    trust(): void {
      watch.isInDoubt = false
      row = undefined
      isReported = false
    },
  }
  return watch
}

function describe(offsetSeconds: number): string {
  const direction = offsetSeconds > 0 ? 'ahead of' : 'behind'
  return `It is ${Math.abs(offsetSeconds)} s ${direction} the service’s clock: \`clockOffsetSeconds\` is ${offsetSeconds}.`
}
