/** The cross-channel map. Contract, "Cross-channel mapping". */
import { CARRIER_A } from './carrier-a.ts'
import { CARRIER_B } from './carrier-b.ts'
import { CHAT_APP } from './chat-app.ts'
import type { Meaning } from './status-codes.ts'

/** The concepts that every channel's words are mapped to. */
export const CONCEPTS = ['delivered', 'read', 'sent', 'transient failure', 'permanent failure', 'unreachable'] as const
export type Concept = (typeof CONCEPTS)[number]

export interface CrossChannelRow {
  readonly concept: Concept
  readonly carrierA: readonly string[]
  readonly carrierB: readonly string[]
  readonly chatApp: readonly string[]
}

/** Each concept with the words of carrier A, carrier B and the chat-app for it, read off their own tables. */
export const CROSS_CHANNEL_MAP: readonly CrossChannelRow[] = CONCEPTS.map((concept) => ({
  concept,
  carrierA: wordsFor(CARRIER_A, concept),
  carrierB: wordsFor(CARRIER_B, concept),
  chatApp: wordsFor(CHAT_APP, concept),
}))

function wordsFor(words: ReadonlyMap<string, Meaning>, concept: Concept): readonly string[] {
  return [...words].filter(([, meaning]) => conceptOf(meaning) === concept).map(([word]) => word)
}

function conceptOf({ type, failure }: Meaning): Concept | undefined {
  if (type === 'message.delivered') return 'delivered'
  if (type === 'message.read') return 'read'
  if (type === 'message.sent') return 'sent'
  if (failure === undefined) return undefined
  return failure.kind === 'unreachable' ? 'unreachable' : `${failure.kind} failure`
}
