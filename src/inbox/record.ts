/** What is kept of an event beside its bytes: small, plain, and safe to write as JSON. */
import type {
  CallbackKind,
  Carrier,
  Failure,
  Oddity,
  Problem,
  Proof,
  ReportType,
  StatusCode,
  TimestampSource,
} from '../events.ts'

/** A delivery report in the one vocabulary. */
export interface Report {
  readonly type: ReportType
  readonly messageId: string
  readonly channel: string
  readonly network?: string
  readonly carrier?: Carrier
  readonly recipient?: string
  readonly status: string
  readonly statusCode?: StatusCode
  readonly scheduled?: boolean
  readonly failure?: Failure
}

export interface EventRecord {
  readonly project: string | undefined
  /** The kind that the middleware was mounted with. */
  readonly kind: CallbackKind | undefined
  /** Unix seconds. */
  readonly timestamp: number
  readonly timestampSource: TimestampSource
  readonly receivedAtMs: number
  readonly proof: Proof
  readonly oddities?: readonly Oddity[]
  /** Why the body could not be read; such an event is `unrecognized`. */
  readonly problem?: Problem
  readonly report?: Report
}
