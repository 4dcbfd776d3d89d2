/** Carrier B: words are forwarded as the carrier sends them. Contract, service.md#sms-delivery-callback. */
import { permanent, type Meaning } from './meaning.ts'

export const CARRIER_B: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['delivered', { type: 'message.delivered' }],
  ['failed', permanent('failed')],
])

/** Contract: other carrier-specific strings are to be treated as permanent failures. */
export const CARRIER_WORD: Meaning = permanent('carrier_word')
