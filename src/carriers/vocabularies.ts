/**
 * The words of each channel and what they mean, a table for each. A new carrier is its name in `CARRIERS` and a table here: types,
 * the cross-channel map and the pages of the documentation follow.
 */
import { CARRIERS, type Carrier } from '../public/events.ts'
import { permanent, type Meaning } from './meaning.ts'

/** Whose words they are: a carrier's, over SMS; or those of the chat-app. */
export type Speaker = Carrier | 'chatApp'
export const SPEAKERS: readonly Speaker[] = [...CARRIERS, 'chatApp']

interface Vocabulary {
  readonly words: ReadonlyMap<string, Meaning>
  /** It has words beside these, which are to be treated as permanent failures; otherwise an unknown word has no meaning. */
  readonly isOpen: boolean
  /** The word for a number that comes in place of one. */
  readonly wordForCode?: (code: number) => string
}

/** The five words to which the service maps carrier A’s codes. */
export type CarrierAStatus =
  'success' | 'network_failure' | 'delivery_impossible' | 'absent_subscriber' | 'unknown_error'

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
  // Its words are forwarded as it sends them. Contract, service.md#sms-delivery-callback.
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

/** What a carrier says in a word of its own. Contract: other carrier-specific strings are to be treated as permanent failures. */
export const CARRIER_WORD: Meaning = permanent('carrier_word')
