/** Composes a store on servers from decisions, heartbeats, notifications and handler transactions. */
import { systemClock } from '../runtime/clock.ts'
import type { SharedStore, VersionedChange } from '../inbox/record-store.ts'
import { settlementCommand } from '../inbox/runtime/commands.ts'
import { createOpenStore, type Verbs } from '../inbox/runtime/open-store.ts'
import { createSharedRunner } from '../inbox/runtime/shared-runner.ts'
import { inStoreTime, settlementIn, type StoreClock } from '../inbox/runtime/store-time.ts'
import {
  isKept,
  type Awaitable,
  type ClaimRequest,
  type ClaimResult,
  type OpenStore,
  type Settlement,
  type StoreHost,
} from '../inbox/store.ts'
import type { Retention } from '../messages/retention.ts'
import { createTransactions, type TransactionEngine } from './transactions.ts'
import { createWorkers, type LeasingPart } from './workers.ts'

/** A statement may run this much longer than its time limit after its client has disconnected. */
const MARGIN_MS = 2_000

export interface ServerStoreOptions<Session, Context extends object> {
  /** `mayLease`: whether this process can lease records of a part now. */
  readonly createStore: (mayLease: (part: number) => boolean) => SharedStore
  readonly host: StoreHost
  /** Undefined if the clocks of the callers apply. */
  readonly storeClock: Pick<StoreClock, 'nowMs'> | undefined
  readonly retention: Retention
  readonly queryTimeoutMs: number
  readonly parts: readonly LeasingPart[]
  readonly partOf: (recordKey: string) => number
  /** How long closing waits for the release of leases. After that, other workers take them over in a few seconds. */
  readonly leaveMs: number
  readonly waking: {
    /** Notifies other processes that an event may be due. */
    readonly notify: () => void
    /** Like `notify`, for a process that claims too. Default: `notify`. */
    readonly notifyOfRemaining?: () => void
    /** Called when a claim begins. The caller calls the returned function once nothing more is due. */
    readonly claiming?: () => () => void
    readonly stop: () => Awaitable<void>
  }
  /** Undefined if handlers get no transaction. */
  readonly transactions?: TransactionEngine<Session, Context> | undefined
  readonly close: () => Promise<void>
}

export async function openServerStore<Session, Context extends object>(
  options: ServerStoreOptions<Session, Context>,
): Promise<OpenStore<Context>> {
  const { host, storeClock, waking } = options
  const unannounced = options.createStore((part) => workers.mayLease(part))
  const store = { ...unannounced, write: announcingRest(unannounced.write, host.onWork) }
  const storeNowMs = storeClock?.nowMs
  const runner = createSharedRunner({
    store,
    storeNowMs,
    writeLastsMs: options.queryTimeoutMs + MARGIN_MS,
    onLost: () => systemClock().soon(host.onWork),
  })
  const workers = createWorkers({ ...options, runner, announce: waking.notify })
  await workers.begin()
  const plain = createOpenStore({
    runner,
    indexes: runner.indexes,
    retention: options.retention,
    worker: workers.nameFor,
    report: host.report ?? (() => {}),
  })
  const verbs = storeClock === undefined ? plain : inStoreTime(plain, storeClock)

  async function plainClaim(request: ClaimRequest): Promise<ClaimResult> {
    const noneLeft = waking.claiming?.()
    await workers.sure()
    await runner.takeBackLost((key) => !request.exclude.has(key) && workers.nameFor(key) !== undefined)
    const result = await verbs.claim(request)
    if (result.nextDueMs === undefined || result.nextDueMs > request.nowMs) noneLeft?.()
    return result
  }

  const settle = async (settlements: readonly Settlement[], nowMs: number) => verbs.settle(settlements, nowMs)
  const engine = options.transactions
  const transactions = engine && createTransactions({ engine, settleWithin, claim: plainClaim, settle })

  async function settleWithin(
    transaction: Pick<SharedStore, 'read' | 'write'>,
    settlement: Settlement,
    nowMs: number,
  ): Promise<boolean> {
    const one = createSharedRunner({ store: { ...store, ...transaction }, storeNowMs: undefined, writeLastsMs: 0 })
    const by = storeNowMs === undefined ? 0 : storeNowMs() - nowMs
    const [held = false] = await one.run([settlementCommand(settlementIn(by)(settlement), nowMs + by)])
    runner.forget(settlement.messageKey)
    return held
  }

  let closing: Promise<void> | undefined

  /** Notifies after the commit, in a separate transaction: a transaction with NOTIFY makes other commits of Postgres wait. */
  const { notify, notifyOfRemaining = notify } = waking
  const notifyOfAdmitted = host.claims === false ? notify : notifyOfRemaining
  const { admitAndClaim, ...announced } = announcing(verbs, notify, notifyOfAdmitted, host.onWork)
  const { admitAndClaim: _, ...others } = verbs
  return {
    ...others,
    isHeld: workers.isHeld,
    workers: workers.listed,
    ...announced,
    // With handler transactions, a claim opens one for each event.
    ...(transactions === undefined ? { admitAndClaim, notifiesRemaining: true, settleLingerMs: SETTLE_LINGER_MS } : {}),
    claim: transactions?.claim ?? plainClaim,
    settle: transactions?.settle ?? settle,
    close() {
      closing ??= (async () => {
        await transactions?.close()
        await workers.leave()
        await waking.stop()
        await options.close()
      })()
      return closing
    },
    ...(transactions === undefined ? {} : { contextFor: transactions.contextFor }),
  }
}

/** Holding settlements back for some milliseconds halves the round trips of many processes with little load. */
const SETTLE_LINGER_MS = 25

/**
 * The operations after which an event may be due for other processes. They call `notify` then, or `notifyOfAdmitted` for events
 * that were admitted here and not leased.
 */
function announcing(
  verbs: Verbs,
  notify: () => void,
  notifyOfAdmitted: () => void,
  onWork: StoreHost['onWork'],
): Pick<Verbs, 'admit' | 'admitAndClaim' | 'resolve' | 'forget' | 'expect' | 'admitOverdue'> {
  async function after<T>(answer: Awaitable<T>, isDue: (answered: T) => boolean, announce = notify): Promise<T> {
    const answered = await answer
    if (isDue(answered)) announce()
    return answered
  }

  return {
    admit: (events, nowMs) =>
      after(verbs.admit(events, nowMs), (admissions) => admissions.some(isKept), notifyOfAdmitted),
    async admitAndClaim(events, request) {
      try {
        return await after(
          verbs.admitAndClaim(events, request),
          // Duplicates, and events leased here, are not due for others.
          ({ admissions, claims }) => admissions.filter(isKept).length > claims.length,
          notifyOfAdmitted,
        )
      } catch (error) {
        // The leases may have been granted all the same. The next claim takes them back.
        systemClock().soon(onWork)
        throw error
      }
    },
    resolve: (id, resolution, nowMs) =>
      after(verbs.resolve(id, resolution, nowMs), (isResolved) => isResolved && resolution !== 'discard'),
    forget: (request, nowMs) =>
      after(verbs.forget(request, nowMs), ({ unsettled }) => unsettled > 0 && !request.dryRun),
    expect: (messages, nowMs) => after(verbs.expect(messages, nowMs), (answers) => answers.includes(true)),
    admitOverdue: (events, nowMs) => after(verbs.admitOverdue(events, nowMs), (answers) => answers.includes(true)),
  }
}

/** Calls `onWork` after the settlement of an event if other events of its message wait. */
function announcingRest(write: SharedStore['write'], onWork: StoreHost['onWork']): SharedStore['write'] {
  return async (changes, asOfMs) => {
    const versions = await write(changes, asOfMs)
    if (changes.some((change, index) => versions[index] !== undefined && leavesRest(change))) systemClock().soon(onWork)
    return versions
  }
}

function leavesRest({ before, after }: VersionedChange): boolean {
  return after !== undefined && after.waiting.length > 0 && before?.lease !== undefined && after.lease === undefined
}
