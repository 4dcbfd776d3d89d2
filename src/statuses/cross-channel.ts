/** The cross-channel map. Contract, service.md#cross-channel-mapping. */
import { CARRIER_A } from './carrier-a.ts'
import { CARRIER_B } from './carrier-b.ts'
import { CHAT_APP } from './chat-app.ts'
import type { Meaning } from './meaning.ts'

/** The concepts that every channel's words are mapped to. */
const CONCEPTS = ['delivered', 'read', 'sent', 'transient failure', 'permanent failure', 'unreachable'] as const
type Concept = (typeof CONCEPTS)[number]

/** The words for a concept on each channel; none where a list is empty. */
export interface CrossChannelRow {
  readonly concept: Concept
  readonly carrierA: readonly string[]
  readonly carrierB: readonly string[]
  readonly chatApp: readonly string[]
  /** What the contract says of a channel instead of a word. */
  readonly notes?: { readonly carrierB: 'varies'; readonly chatApp: 'carried in error' }
}

/** Each concept with the words of carrier A, carrier B and the chat-app for it, read off their own tables. */
export const CROSS_CHANNEL_MAP: readonly CrossChannelRow[] = CONCEPTS.map((concept) => ({
  concept,
  carrierA: wordsFor(CARRIER_A, concept),
  carrierB: wordsFor(CARRIER_B, concept),
  chatApp: wordsFor(CHAT_APP, concept),
  // Carrier B has words of its own for it, and the chat-app says `failed` with the reason in `statuses.error`.
  ...(concept === 'unreachable' ? { notes: { carrierB: 'varies', chatApp: 'carried in error' } } : undefined),
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
