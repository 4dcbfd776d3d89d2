/**
 * The status words of each channel and their meanings, one table per channel. To add a carrier, add its name to `CARRIERS` and
 * a table here: types, the cross-channel map and the documentation follow.
 */
import { CARRIERS, type Carrier } from '../public/events.ts'
import { permanent, type Meaning } from './meaning.ts'

/** The source of a status word: an SMS carrier, or the chat-app. */
export type Speaker = Carrier | 'chatApp'
export const SPEAKERS: readonly Speaker[] = [...CARRIERS, 'chatApp']

interface Vocabulary {
  readonly words: ReadonlyMap<string, Meaning>
  /** The channel also uses other words, which count as permanent failures. Otherwise an unknown word has no meaning. */
  readonly isOpen: boolean
  /** The word for a number that replaces one. */
  readonly wordForCode?: (code: number) => string
}

/** The five words that the service maps carrier A's codes to. */
export type CarrierAStatus =
  'success' | 'network_failure' | 'delivery_impossible' | 'absent_subscriber' | 'unknown_error'

/** The carrier's own codes by the word that they map to. Any other code is `unknown_error`. */
export const CARRIER_A_CODES: ReadonlyMap<number, CarrierAStatus> = new Map<number, CarrierAStatus>([
  [0, 'success'],
  [1001, 'network_failure'],
  ...[1, 5, 11, 13, 21, 31, 32, 34, 99].map((code): [number, CarrierAStatus] => [code, 'delivery_impossible']),
  ...[6, 27].map((code): [number, CarrierAStatus] => [code, 'absent_subscriber']),
])

/**
 * The word for a numeric code of carrier A: `carrierAStatus(27)` is `'absent_subscriber'`. An unlisted code is
 * `'unknown_error'`, a permanent failure. Contract, service.md#carrier-a-status-values.
 */
export function carrierAStatus(code: number): CarrierAStatus {
  return CARRIER_A_CODES.get(code) ?? 'unknown_error'
}

export const VOCABULARIES: Readonly<Record<Speaker, Vocabulary>> = {
  // Contract, service.md#carrier-a-status-values.
  carrierA: {
    words: new Map<CarrierAStatus, Meaning>([
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
    ]),
    isOpen: false,
    wordForCode: carrierAStatus,
  },
  // The service forwards its words unchanged. Contract, service.md#sms-delivery-callback.
  carrierB: {
    words: new Map<string, Meaning>([
      ['delivered', { type: 'message.delivered' }],
      ['failed', permanent('failed')],
    ]),
    isOpen: true,
  },
  // Contract, service.md#chat-app-delivery-callback, `statuses.status`.
  chatApp: {
    words: new Map<string, Meaning>([
      ['sent', { type: 'message.sent' }],
      ['delivered', { type: 'message.delivered' }],
      ['read', { type: 'message.read' }],
      ['failed', permanent('failed')],
    ]),
    isOpen: false,
  },
}

/** A carrier-specific word. Contract: treat other carrier-specific strings as permanent failures. */
export const CARRIER_WORD: Meaning = permanent('carrier_word')
