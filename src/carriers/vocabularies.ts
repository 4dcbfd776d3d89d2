/**
 * The status words of each channel and their meanings, one table per channel, and the cross-channel map that derives from them;
 * and the words of premium callbacks. To add a carrier, add its name to `CARRIERS` and a table here: types, the map and the
 * documentation follow.
 */
import { CARRIERS, type Carrier, type SubscriptionWord } from '../public/events.ts'
import { permanent, type Meaning } from './status-codes.ts'
import { recordOf } from '../runtime/values.ts'

/** The source of a status word: an SMS carrier, or the chat-app. */
type Speaker = Carrier | 'chatApp'
const SPEAKERS: readonly Speaker[] = [...CARRIERS, 'chatApp']

interface Vocabulary {
  readonly words: ReadonlyMap<string, Meaning>
  /** The channel also uses other words, which count as permanent failures. Otherwise an unknown word has no meaning. */
  readonly isOpen: boolean
  /** The word for a number that replaces one. */
  readonly wordForCode?: (code: number) => string
}

/** The five words that the service maps carrier A's codes to. */
type CarrierAStatus = 'success' | 'network_failure' | 'delivery_impossible' | 'absent_subscriber' | 'unknown_error'

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

/** The concepts that the words of all channels map to. */
const CONCEPTS = ['delivered', 'read', 'sent', 'transient failure', 'permanent failure', 'unreachable'] as const
type Concept = (typeof CONCEPTS)[number]

/**
 * The words for a concept on each channel: `carrierA`, `carrierB`, `chatApp`. A list is empty if the channel has no word.
 * Contract, service.md#cross-channel-mapping.
 */
interface CrossChannelRow extends Readonly<Record<Speaker, readonly string[]>> {
  readonly concept: Concept
  /** The contract's note for a channel without a word. */
  readonly notes?: { readonly carrierB: 'varies'; readonly chatApp: 'carried in error' }
}

/** Each concept with the words of each carrier and the chat-app, derived from their tables. */
export const CROSS_CHANNEL_MAP: readonly CrossChannelRow[] = CONCEPTS.map((concept) => ({
  concept,
  ...recordOf(SPEAKERS, (speaker) => wordsFor(speaker, concept)),
  // Carrier B uses its own words here, and the chat-app reports `failed` with the reason in `statuses.error`.
  ...(concept === 'unreachable' ? { notes: { carrierB: 'varies', chatApp: 'carried in error' } } : undefined),
}))

function wordsFor(speaker: Speaker, concept: Concept): readonly string[] {
  return [...VOCABULARIES[speaker].words].filter(([, meaning]) => conceptOf(meaning) === concept).map(([word]) => word)
}

function conceptOf({ type, failure }: Meaning): Concept | undefined {
  if (type === 'message.delivered') return 'delivered'
  if (type === 'message.read') return 'read'
  if (type === 'message.sent') return 'sent'
  if (failure === undefined) return undefined
  return failure.kind === 'unreachable' ? 'unreachable' : `${failure.kind} failure`
}

/**
 * The fields of the type. The first one with a text decides, even if its word is unknown: a keyword or a text of the customer in
 * another field may be such a word by chance. The contract names the types of premium callbacks but not the field that carries
 * them, and says elsewhere that a customer "subscribes, unsubscribes or is billed". Contract, service.md#premium-sms-callbacks,
 * #events.
 */
const TYPE_FIELDS = ['event', 'type', 'action'] as const

const WORDS: ReadonlyMap<string, SubscriptionWord> = new Map<string, SubscriptionWord>([
  ['activate', 'activate'],
  ['deactivate', 'deactivate'],
  ['consent', 'consent'],
  ['delivery', 'delivery'],
  ['billing', 'billing'],
  ['billed', 'billing'],
])

type Payload = Readonly<Record<string, unknown>>

export interface ReadSubscription {
  readonly word: SubscriptionWord
  /** The sender's own text. */
  readonly text: string | undefined
}

/** Always returns a word: `other` if none is recognised. Ignores case. */
export function readSubscription(payload: Payload): ReadSubscription {
  const textOf = (name: string): string | undefined => {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined
    return isWord(value) ? value : undefined
  }
  const text = TYPE_FIELDS.map(textOf).find((each) => each !== undefined) ?? wordElsewhere(payload, textOf('status'))
  return { word: (text === undefined ? undefined : known(text)) ?? 'other', text }
}

function known(text: string): SubscriptionWord | undefined {
  return WORDS.get(text.trim().toLowerCase())
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** Without a type: a known word in `status`, or the only known one of all top-level fields, or else any text of `status`. */
function wordElsewhere(payload: Payload, status: string | undefined): string | undefined {
  return status !== undefined && known(status) !== undefined ? status : (onlyKnown(Object.values(payload)) ?? status)
}

/** A word in any other top-level field, if it is the only one with a known meaning. */
function onlyKnown(values: readonly unknown[]): string | undefined {
  const texts = values.filter(isWord).filter((text) => known(text) !== undefined)
  return new Set(texts.map(known)).size === 1 ? texts[0] : undefined
}
