/** A callback to post, and the results of its requests. */
import type { CallbackKind, EventProof } from '../public/events.ts'
import { isRecord } from '../runtime/values.ts'

/** The webhook security pair. */
export interface KeyPair {
  readonly authKey: string
  readonly signingSecret: string
}

type Payload = Readonly<Record<string, unknown>>

export interface Outgoing extends KeyPair {
  /** The project's URL for this kind of callback. */
  readonly url: string
  readonly kind: CallbackKind
  /** The project's display name. */
  readonly project: string
  /** Proofs that the callback carries: the authKey in the body, the signature under the secret. */
  readonly proof: EventProof
  /** The pair before the last rotation, for the fault that uses an old key. Absent if none was rotated. */
  readonly previous?: KeyPair | undefined
  /** Posts to https URLs only. Contract, service.md#webhook-security-pair, Enforce HTTPS. */
  readonly enforceHttps?: boolean
  /** The fields of the body, without `authKey`. */
  readonly payload: Payload
  /**
   * Identifies the callback in a run: equal in every run with the same seed and sends, whatever the order of timers. Faults are
   * drawn by it, so that runs repeat despite different timing.
   */
  readonly key: string
}

/** One request for a callback, posted or dropped. A callback can have several. */
export interface Delivery {
  readonly kind: CallbackKind
  readonly project: string
  readonly url: string
  /** Without the `authKey`. */
  readonly payload: Payload
  /** By the emulator's clock, in milliseconds since the Unix epoch. */
  readonly sentAtMs: number
  /** Time to the answer, in milliseconds; 0 if nothing was posted. */
  readonly tookMs: number
  /** Faults of this request. */
  readonly faults: readonly string[]
  /** The request had a valid proof and its whole body: a correct receiver must accept it. */
  readonly intact: boolean
  /** False if a fault dropped it. */
  readonly sent: boolean
  /** HTTP status of the answer. Absent without an answer. */
  readonly status?: number
  /** Why there was no answer. Never contains a body, a key or the credentials of a URL. */
  readonly error?: string
}

/** Contract, service.md#delivery-rules: match by `messageId`; chat-app reports have it in `statuses.message_id`. */
export function messageOf({ messageId, statuses }: Payload): string | undefined {
  const id = messageId ?? (isRecord(statuses) ? statuses['message_id'] : undefined)
  return typeof id === 'string' ? id : undefined
}
