/** A callback as any framework receives it, with its trace context: the input of the pipeline. */
import type { CallbackKind } from './events.ts'

/** The header with the signature. Contract, service.md#callback-authenticity. */
export const SIGNATURE_HEADER = 'x-service-signature'

/** The proofs that a URL requires. The contract accepts either; use `signature` or `both` for payments. */
export const PROOF_POLICIES = ['either', 'signature', 'authKey', 'both'] as const
/** The proofs that a callback needs. */
export type ProofPolicy = (typeof PROOF_POLICIES)[number]

export interface ArrivedCallback {
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  /** The values of the signature header. More than one if it was sent twice. */
  readonly signatures: readonly string[]
  readonly contentEncoding: string | undefined
  readonly captured: Captured
  readonly arrivedAtMs: number
  /** The trace when the request began: after reading the body, the app's span may have ended. */
  readonly trace?: TraceContext | undefined
  /** Receives a promise of the first attempt at the event, if the runtime must wait for it. */
  readonly waitUntil?: ((attempted: Promise<void>) => void) | undefined
}

/** The body, as far as it was read. */
export type Captured =
  /**
   * The bytes as sent. `decoded` if a parser before the receiver may have removed a content encoding. `detail` says what may have
   * changed other bytes, if no proof holds.
   */
  | { readonly kind: 'exact'; readonly bytes: Buffer; readonly decoded: boolean; readonly detail?: string | undefined }
  /** A parser ran before the receiver and left only its result. */
  | { readonly kind: 'parsed'; readonly value: unknown; readonly detail?: string | undefined }
  | { readonly kind: 'failed'; readonly reason: CaptureFailure; readonly detail?: string | undefined }

export type CaptureFailure = 'body_too_large' | 'body_too_slow' | 'body_incomplete' | 'body_already_read'

/** The trace of a request, in the format of W3C Trace Context. */
export interface TraceContext {
  /** `00-<trace id>-<span id>-<flags>`, in lowercase hexadecimal digits. */
  readonly traceparent: string
  /** Data of tracing systems. At most 512 printable ASCII characters. */
  readonly tracestate?: string | undefined
}

/** Both ids must contain a digit other than 0. Version ff is invalid. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/
const TRACESTATE = /^[ -~]{1,512}$/

export function isTracestate(value: unknown): value is string {
  return typeof value === 'string' && TRACESTATE.test(value)
}

/** Undefined for an invalid traceparent. Omits an invalid tracestate. */
export function traceContextOf(given: {
  readonly traceparent?: unknown
  readonly tracestate?: unknown
}): TraceContext | undefined {
  const { traceparent, tracestate } = given
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  return isTracestate(tracestate) ? { traceparent, tracestate } : { traceparent }
}
