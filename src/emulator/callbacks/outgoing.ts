/** What the emulator gives to its sender of callbacks, and what the sender reports. */
import type { CallbackKind, Proof } from '../../public/events.ts'
import type { KeyPair } from '../projects.ts'

/** One callback that is to be made: where to, on whose behalf, and what it says. */
export interface Outgoing {
  /** The project's callback URL for this kind. */
  readonly url: string
  readonly kind: CallbackKind
  /** The project's display name. */
  readonly project: string
  /** The live pair: it goes into the body, and keys the signature. Contract, service.md#webhook-security-pair. */
  readonly authKey: string
  readonly signingSecret: string
  /** Which of the two it carries. */
  readonly proof: Proof
  /** The pair before the last rotation, for the fault that uses an old key; absent where none was rotated. */
  readonly previous?: KeyPair | undefined
  /** Posts to https URLs only. Contract, service.md#webhook-security-pair, Enforce HTTPS. */
  readonly enforceHttps?: boolean
  /** The fields of the body, without `authKey`. */
  readonly payload: Readonly<Record<string, unknown>>
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
  readonly payload: Readonly<Record<string, unknown>>
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

/** Posts callbacks; never retries. Contract, service.md#delivery-rules. */
export interface Sender {
  /** Resolves when all requests for it have been answered, have failed, or were dropped; never rejects. */
  send(outgoing: Outgoing): Promise<Delivery[]>
  /** Resolves when nothing is under way and nothing waits for its time. */
  idle(): Promise<void>
  /** Cuts what is under way, drops what waits, and lets go of the connections. */
  close(): Promise<void>
}

/** Contract, service.md#delivery-rules: match by `messageId`; the chat-app has it in `statuses.message_id`. */
export function messageOf(payload: Outgoing['payload']): string | undefined {
  const { messageId, statuses } = payload
  const id: unknown =
    messageId ??
    (typeof statuses === 'object' && statuses !== null && 'message_id' in statuses ? statuses.message_id : undefined)
  return typeof id === 'string' ? id : undefined
}
