/** Carrier A: its five words and the numeric codes behind them. Contract, service.md#carrier-a-status-values. */
import { permanent, type Meaning } from './meaning.ts'

/** The five words to which the service maps carrier A’s codes. */
export type CarrierAStatus =
  'success' | 'network_failure' | 'delivery_impossible' | 'absent_subscriber' | 'unknown_error'

export const CARRIER_A: ReadonlyMap<string, Meaning> = new Map<CarrierAStatus, Meaning>([
  ['success', { type: 'message.delivered' }],
  [
    'network_failure',
    { type: 'message.failed', failure: { kind: 'transient', resend: true, cause: 'network_failure' } },
  ],
  ['delivery_impossible', permanent('delivery_impossible')],
  [
    'absent_subscriber',
    { type: 'message.failed', failure: { kind: 'unreachable', resend: false, cause: 'absent_subscriber' } },
  ],
  ['unknown_error', permanent('unknown_error')],
])

/** The carrier's own codes by the word they are mapped to; any other code is `unknown_error`. */
export const CARRIER_A_CODES: ReadonlyMap<number, CarrierAStatus> = new Map<number, CarrierAStatus>([
  [0, 'success'],
  [1001, 'network_failure'],
  ...[1, 5, 11, 13, 21, 31, 32, 34, 99].map((code): [number, CarrierAStatus] => [code, 'delivery_impossible']),
  ...[6, 27].map((code): [number, CarrierAStatus] => [code, 'absent_subscriber']),
])

/**
 * The word for a numeric code of carrier A: `carrierAStatus(27)` is `'absent_subscriber'`. A code that the contract does
 * not list is `'unknown_error'`, which counts as a permanent failure. Contract, service.md#carrier-a-status-values.
 */
export function carrierAStatus(code: number): CarrierAStatus {
  return CARRIER_A_CODES.get(code) ?? 'unknown_error'
}
