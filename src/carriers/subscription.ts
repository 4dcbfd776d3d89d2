/**
 * Which of the premium callbacks one is. The contract names the types and not the field that says so, and in another place
 * that a customer "subscribes, unsubscribes or is billed". Contract, service.md#premium-sms-callbacks, #events.
 */
import type { SubscriptionWord } from '../public/events.ts'

/** Where the word is looked for, in this order. */
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
  /** The sender's own, as it is written there. */
  readonly said: string | undefined
}

/** Always finds one: `other` where no word is known. Case does not matter. */
export function readSubscription(payload: Payload): ReadSubscription {
  const texts = WORD_FIELDS.map((name) => (Object.hasOwn(payload, name) ? payload[name] : undefined)).filter(isWord)
  const said = texts.find((text) => known(text) !== undefined) ?? onlyKnown(Object.values(payload)) ?? texts[0]
  return { word: (said === undefined ? undefined : known(said)) ?? 'other', said }
}

function known(text: string): SubscriptionWord | undefined {
  return WORDS.get(text.trim().toLowerCase())
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

/** Wherever else it stands at the top level, if it is the only one of its meaning there. */
function onlyKnown(values: readonly unknown[]): string | undefined {
  const texts = values.filter(isWord).filter((text) => known(text) !== undefined)
  return new Set(texts.map(known)).size === 1 ? texts[0] : undefined
}
