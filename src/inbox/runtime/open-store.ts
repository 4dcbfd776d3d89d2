/** Builds the store that the receiver uses from the decisions and a runner that reads and writes records. */
import type { Retention } from '../../messages/retention.ts'
import type { OpenStore } from '../store.ts'
import { createClaim, type ClaimingOptions } from './claiming.ts'
import { createAskOvertaking, createEventVerbs } from './commands.ts'
import { createListingVerbs } from './listing.ts'
import { createRetentionVerbs } from './retention.ts'
import { createSendVerbs } from './sends.ts'

interface OpenStoreOptions extends Omit<ClaimingOptions, 'askOvertaking'> {
  readonly retention: Retention
  /** False if no report waits for pending sends. Default true. */
  readonly awaitsAnswers?: boolean | undefined
}

/** The part of an open store that is the same for every engine. */
export type Verbs = Omit<Required<OpenStore>, Added> & Pick<OpenStore, Exclude<Added, 'contextFor'>>
type Added =
  'latestNowMs' | 'notifiesRemaining' | 'settleLingerMs' | 'eraseTraces' | 'isHeld' | 'workers' | 'contextFor'

export function createOpenStore({ awaitsAnswers = true, ...options }: OpenStoreOptions): Verbs {
  const { runner, indexes, retention } = options
  const askOvertaking = awaitsAnswers ? createAskOvertaking() : undefined
  return {
    ...createEventVerbs({ ...options, askOvertaking }),
    claim: createClaim({ ...options, askOvertaking }),
    ...createSendVerbs({ runner, indexes }),
    ...createListingVerbs(indexes),
    ...createRetentionVerbs({ runner, indexes, retention }),
    counts: indexes.counts,
    close: indexes.close,
  }
}
