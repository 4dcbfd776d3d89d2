/** A store as the receiver uses it, made of the decisions and of what reads and writes records. */
import type { Retention } from '../../messages/expire.ts'
import type { OpenStore } from '../store.ts'
import { createClaim, type ClaimingOptions } from './claiming.ts'
import { createEventVerbs } from './commands.ts'
import { createListingVerbs } from './listing.ts'
import { createRetentionVerbs } from './retention.ts'
import { createSendVerbs } from './sends.ts'

interface OpenStoreOptions extends ClaimingOptions {
  readonly retention: Retention
}

/** All that the contract has and no engine must add. */
export type Verbs = Omit<Required<OpenStore>, Added> & Pick<OpenStore, Exclude<Added, 'contextFor'>>
type Added = 'latestNowMs' | 'tellsOfRest' | 'settleHoldMs' | 'eraseTraces' | 'isHeld' | 'holders' | 'contextFor'

export function createOpenStore(options: OpenStoreOptions): Verbs {
  const { runner, indexes, retention } = options
  return {
    ...createEventVerbs(options),
    claim: createClaim(options),
    ...createSendVerbs({ runner, indexes }),
    ...createListingVerbs(indexes),
    ...createRetentionVerbs({ runner, indexes, retention }),
    counts: indexes.counts,
    close: indexes.close,
  }
}
