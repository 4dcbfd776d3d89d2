/** The cross-channel map. Contract, service.md#cross-channel-mapping. */
import { recordOf } from '../runtime/record-of.ts'
import type { Meaning } from './meaning.ts'
import { SPEAKERS, VOCABULARIES, type Speaker } from './vocabularies.ts'

/** The concepts that the words of all channels map to. */
const CONCEPTS = ['delivered', 'read', 'sent', 'transient failure', 'permanent failure', 'unreachable'] as const
type Concept = (typeof CONCEPTS)[number]

/** The words for a concept on each channel: `carrierA`, `carrierB`, `chatApp`. A list is empty if the channel has no word. */
export interface CrossChannelRow extends Readonly<Record<Speaker, readonly string[]>> {
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
