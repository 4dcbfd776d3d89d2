/**
 * Identifies a premium callback. The contract names the types but not the field that carries them, and says elsewhere that a
 * customer "subscribes, unsubscribes or is billed". Contract, service.md#premium-sms-callbacks, #events.
 */
import type { SubscriptionWord } from '../public/events.ts'

/** The fields to look in, in this order. */
const WORD_FIELDS = ['event', 'type', 'action', 'status'] as const

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
  const texts = WORD_FIELDS.map((name) => (Object.hasOwn(payload, name) ? payload[name] : undefined)).filter(isWord)
  const text = texts.find((each) => known(each) !== undefined) ?? onlyKnown(Object.values(payload)) ?? texts[0]
  return { word: (text === undefined ? undefined : known(text)) ?? 'other', text }
}

function known(text: string): SubscriptionWord | undefined {
  return WORDS.get(text.trim().toLowerCase())
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** A word in any other top-level field, if it is the only one with a known meaning. */
function onlyKnown(values: readonly unknown[]): string | undefined {
  const texts = values.filter(isWord).filter((text) => known(text) !== undefined)
  return new Set(texts.map(known)).size === 1 ? texts[0] : undefined
}
