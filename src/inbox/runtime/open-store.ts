/** A store as the receiver uses it, made of the decisions and of what reads and writes records. */
import type { MessagingWebhooksError } from '../../errors.ts'
import type { Retention } from '../../messages/expire.ts'
import type { Indexes } from '../record-store.ts'
import type { OpenStore } from '../store.ts'
import { createEventVerbs } from './events.ts'
import { createListingVerbs } from './listing.ts'
import { createRetentionVerbs } from './retention.ts'
import type { Runner } from './runner.ts'
import { createSendVerbs } from './sends.ts'

interface OpenStoreOptions {
  readonly runner: Runner
  readonly indexes: Indexes
  readonly retention: Retention
  /** Named in leases; empty where no other process shares the store. */
  readonly worker: () => string
  readonly report: (error: MessagingWebhooksError) => void
}

/** All that the contract has and no engine must add. */
export type Verbs = Omit<Required<OpenStore>, Added> & Pick<OpenStore, Exclude<Added, 'contextFor'>>
type Added = 'latestNowMs' | 'tellsOfRest' | 'settleHoldMs' | 'eraseTraces' | 'isHeld' | 'holders' | 'contextFor'

export function createOpenStore(options: OpenStoreOptions): Verbs {
  const { runner, indexes, retention } = options
  return {
    ...createEventVerbs(options),
    ...createSendVerbs({ runner, indexes }),
    ...createListingVerbs(indexes),
    ...createRetentionVerbs({ runner, indexes, retention }),
    counts: () => indexes.counts(),
    close: () => indexes.close(),
  }
}
