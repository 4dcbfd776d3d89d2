/** The meaning of a status, independent of the channel. Contract, service.md#cross-channel-mapping. */
import type { DeliveryFailure, FailureCause, ReportType } from '../public/events.ts'

export interface Meaning {
  readonly type: ReportType
  readonly failure?: DeliveryFailure
  readonly scheduled?: boolean
}

/** A permanent failure: do not send again. */
export function permanent(cause: FailureCause): Meaning & { readonly failure: DeliveryFailure } {
  return { type: 'message.failed', failure: { kind: 'permanent', resend: false, cause } }
}
