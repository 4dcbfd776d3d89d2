/** The store contract on one SQLite connection, synchronously; store.ts decides in which thread it runs. */
import type { MessagingWebhooksError } from '../../errors.ts'
import type {
  Admission,
  ClaimRequest,
  ClaimResult,
  EventsAnswer,
  EventsPage,
  OpenStore,
  Settlement,
} from '../../inbox/store.ts'
import type { AdmittedAndLeased } from '../leasable.ts'
import { createAdmission } from './admission.ts'
import { createClaiming } from './claiming.ts'
import { createDamageControl } from './damage.ts'
import type { Database } from './database.ts'
import type { EncodedEvent } from './encoding.ts'
import { createExpecting, type Expecting } from './expecting.ts'
import { createForgetting, type Forgetting } from './forgetting.ts'
import type { Holders, HoldingStore, ListedHolder } from './holders.ts'
import { createListing } from './listing.ts'
import { createPruning, type Retention } from './pruning.ts'
import { createReading } from './reading.ts'
import { createSentTo } from './sent-to.ts'
import { createSettling } from './settling.ts'
import { createTakingBack, type TakingBack } from './taking-back.ts'

/** The verbs of the contract, each one transaction. */
export function createEngine(options: {
  readonly database: Database
  readonly retention: Retention
  readonly holders: Holders
  /** Something is wrong though every verb succeeds. */
  readonly report: (error: MessagingWebhooksError) => void
}): SyncStore {
  const { database, retention, holders } = options
  const damage = createDamageControl(database, options.report)
  const admission = createAdmission(database, () => holders.own, damage)
  return {
    latestNowMs: database.latestNowMs,
    ...admission,
    claim: createClaiming(database, () => holders.own, damage),
    ...createSettling(database),
    ...createReading(database, damage),
    ...createListing(database),
    ...createForgetting(database),
    ...createExpecting(database, damage, admission.admit),
    sentTo: createSentTo(database),
    prune: createPruning(database, retention, damage),
    ...createTakingBack(database, holders),
    hold: holders.hold,
    listedHolders: holders.listed,
    close() {
      try {
        if (!database.file.isReplaced) holders.letGo()
      } finally {
        database.db.close()
      }
    },
  }
}

/** The contract without promises, and with events as they go into the file. */
export interface SyncStore
  extends
    Omit<OpenStore, 'admit' | 'admitAndClaim' | 'events' | keyof Forgetting | keyof Expecting>,
    TakingBack,
    Forgetting,
    Expecting {
  admit(events: readonly EncodedEvent[], nowMs: number): readonly Admission[]
  /** Whoever asks has the records and bodies. */
  admitAndClaim(events: readonly EncodedEvent[], request: ClaimRequest): AdmittedAndLeased
  claim(request: ClaimRequest): ClaimResult
  settle(settlements: readonly Settlement[], nowMs: number): readonly boolean[]
  events(page: EventsPage): EventsAnswer
  prune(nowMs: number): number
  /** From now on leases are held under this name, which others can see to be alive. */
  hold(store: HoldingStore): void
  listedHolders(): readonly ListedHolder[]
  close(): void
}
