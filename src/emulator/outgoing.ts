/** A callback that is to be made, and what became of each of its requests. */
import type { CallbackKind, Proof } from '../public/events.ts'
import { isRecord } from '../runtime/values.ts'

/** The webhook security pair. */
export interface KeyPair {
  readonly authKey: string
  readonly signingSecret: string
}

type Payload = Readonly<Record<string, unknown>>

/** One callback that is to be made: where to, on whose behalf, and what it says. */
export interface Outgoing extends KeyPair {
  /** The project's callback URL for this kind. */
  readonly url: string
  readonly kind: CallbackKind
  /** The project's display name. */
  readonly project: string
  /** Which half of the live pair it carries. The authKey goes into the body, and the secret keys the signature. */
  readonly proof: Proof
  /** The pair before the last rotation, for the fault that uses an old key; absent where none was rotated. */
  readonly previous?: KeyPair | undefined
  /** Posts to https URLs only. Contract, service.md#webhook-security-pair, Enforce HTTPS. */
  readonly enforceHttps?: boolean
  /** The fields of the body, without `authKey`. */
  readonly payload: Payload
  /**
   * The callback's own name in a run: equal in every run with the same seed and the same sends, whatever the order in
   * which timers fire. Faults are drawn by it, so that a run repeats though it is not exactly as fast as the last one.
   */
  readonly key: string
}

/** One request that was made for a callback, or was left out by a fault. A callback can have several. */
export interface Delivery {
  readonly kind: CallbackKind
  readonly project: string
  readonly url: string
  /** As it was handed over, without `authKey`. */
  readonly payload: Payload
  /** By the emulator's clock, in milliseconds since the Unix epoch. */
  readonly sentAtMs: number
  /** How long the answer took, in milliseconds; 0 where nothing was sent. */
  readonly tookMs: number
  /** The names of the faults that were applied to this request. */
  readonly faults: readonly string[]
  /** The request carried proof that holds and its whole body: a right receiver must take it. */
  readonly intact: boolean
  /** False where a fault dropped it: nothing went out. */
  readonly sent: boolean
  /** The HTTP status of the answer; absent where there was none. */
  readonly status?: number
  /** Why there was no answer, in a few words; never a body, a key or the credentials of a URL. */
  readonly error?: string
}

/** Contract, service.md#delivery-rules: match by `messageId`; the chat-app has it in `statuses.message_id`. */
export function messageOf({ messageId, statuses }: Payload): string | undefined {
  const id = messageId ?? (isRecord(statuses) ? statuses['message_id'] : undefined)
  return typeof id === 'string' ? id : undefined
}
