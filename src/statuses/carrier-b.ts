/** Carrier B: words are forwarded as the carrier sends them. Contract, "SMS delivery callback". */
import type { Meaning } from './status-codes.ts'

export const CARRIER_B: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['delivered', { type: 'message.delivered' }],
  ['failed', { type: 'message.failed', failure: { kind: 'permanent', resend: false } }],
])

/** Contract: other carrier-specific strings are to be treated as permanent failures. */
export const CARRIER_B_OTHER: Meaning = { type: 'message.failed', failure: { kind: 'permanent', resend: false } }
