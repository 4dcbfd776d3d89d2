/** What a callback is when it has arrived, whatever framework it came through: one POST, as the stages take it. */
import type { CallbackKind } from './events.ts'
import type { TraceContext } from './trace-context.ts'

/** Carries the signature. Contract, service.md#callback-authenticity. */
export const SIGNATURE_HEADER = 'x-service-signature'

/** Which proofs a URL asks for. The contract says that either is sufficient; payments deserve `signature` or `both`. */
export const PROOF_POLICIES = ['either', 'signature', 'authKey', 'both'] as const
/** Which proofs a callback needs. */
export type ProofPolicy = (typeof PROOF_POLICIES)[number]

export interface ArrivedCallback {
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  /** The values of the signature header: more than one where it was sent twice. */
  readonly signatures: readonly string[]
  readonly contentEncoding: string | undefined
  readonly captured: Captured
  readonly arrivedAtMs: number
  /** Of the request as it began: once its body is read, the app's span may not be active any more. */
  readonly trace?: TraceContext | undefined
  /** Who is at the other end of the connection, perhaps a proxy; undefined where nobody can say. */
  readonly remoteAddress: string | undefined
  /** Where somebody waits for the first attempt at what this brings: told of its end. */
  readonly waitUntil?: ((attempted: Promise<void>) => void) | undefined
}

/** What was read of its body. */
export type Captured =
  /** The bytes as they were sent; `decoded` where a parser before us may have taken a content encoding off. */
  | { readonly kind: 'exact'; readonly bytes: Buffer; readonly decoded: boolean }
  /** A parser ran before us, and only what it made is left. */
  | { readonly kind: 'parsed'; readonly value: unknown; readonly detail?: string | undefined }
  | { readonly kind: 'failed'; readonly reason: CaptureFailure; readonly detail?: string | undefined }

export type CaptureFailure = 'body_too_large' | 'body_too_slow' | 'body_incomplete' | 'body_already_read'
