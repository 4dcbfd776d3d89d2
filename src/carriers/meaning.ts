/** What a status means, whatever channel it came over. Contract, service.md#cross-channel-mapping. */
import type { Failure, FailureCause, ReportType } from '../public/events.ts'

export interface Meaning {
  readonly type: ReportType
  readonly failure?: Failure
  readonly scheduled?: boolean
}

/** A failure after which nothing is to be sent again. */
export function permanent(cause: FailureCause): Meaning & { readonly failure: Failure } {
  return { type: 'message.failed', failure: { kind: 'permanent', resend: false, cause } }
}
