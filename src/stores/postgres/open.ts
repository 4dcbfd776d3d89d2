/** Opens the store: pool, tables and listener, and composes its parts. */
import type { Pool } from 'pg'
import { systemClock } from '../../runtime/clock.ts'
import type { SharedStore } from '../../inbox/record-store.ts'
import { settlementCommand } from '../../inbox/runtime/commands.ts'
import { createOpenStore } from '../../inbox/runtime/open-store.ts'
import { createSharedRunner } from '../../inbox/runtime/shared-runner.ts'
import { createStoreClock, inStoreTime, settlementIn } from '../../inbox/runtime/store-time.ts'
import type { ClaimRequest, ClaimResult, OpenStore, Settlement, StoreHost } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/expire.ts'
import { announcing, announcingRest, SETTLE_HOLD_MS } from '../announcing.ts'
import { createTransactions } from '../transactions.ts'
import { createWorkers } from '../workers.ts'
import { createAging } from './aging.ts'
import { loadPg, reach, type Place, type Session } from './connections.ts'
import { createDue } from './due.ts'
import { createEngine, readTime, readsCommitsEarly, type Engine } from './engine.ts'
import { startListening, type ListenClient } from './listen.ts'
import { migrate } from './migrate.ts'
import { readPrivileges } from './privileges.ts'
import { createRecords } from './records.ts'
import { createScans } from './scanning.ts'
import { transactionEngine, type PostgresContext } from './transactions.ts'
import { leasingPart } from './workers.ts'

/** Notifies the channel $1. $2 identifies the sender. */
const NOTIFY = /* sql */ 'SELECT pg_notify($1::text, $2::text)'
/** After its client has disconnected, a statement may run until its time limit, and a little longer. */
const MARGIN_MS = 2_000
/** A database that does not answer then is unavailable; what is leased here, others take in a few seconds. */
const LEAVE_MS = 10_000

export interface Settings extends Place {
  readonly schema: string
  readonly pollIntervalMs: number
  readonly probeIntervalMs: number
  readonly retention: { readonly retentionDays: number; readonly deadLetterDays: number; readonly dedupeDays: number }
  readonly transactional: boolean
  readonly clock: 'server' | 'caller'
}

/** A connection outside the pool, whose own connections may go through a pooler without notifications. */
async function listenClient({ listenConnectionString }: Settings, pool: Pool): Promise<() => ListenClient> {
  const pg = await loadPg()
  const own = { connectionString: listenConnectionString, keepAlive: true, application_name: 'messaging-webhooks' }
  return () => new pg.Client(listenConnectionString === undefined ? pool.options : own)
}

export async function openPostgres(settings: Settings, host: StoreHost): Promise<OpenStore<PostgresContext>> {
  const { schema, transactional } = settings
  const { connections, failures, pool } = await reach(settings)
  const report = host.report ?? (() => {})
  const storeClock = settings.clock === 'server' ? createStoreClock() : undefined
  let engine: Engine
  try {
    await migrate(connections, schema, failures)
    const { forbidden } = await readPrivileges(connections.query, schema)
    // A process that claims nothing needs only to read.
    if (forbidden !== undefined && host.claims !== false) throw forbidden
    if (forbidden !== undefined) report(forbidden)
    const commitsEarly = await readsCommitsEarly(connections)
    engine = createEngine({ connections, schema, clock: storeClock, commitsEarly })
    await readTime(engine)
  } catch (error) {
    await connections.close()
    throw failures.asThrown(error)
  }

  const retention = retentionOf(settings.retention)
  const listening = startListening({
    clock: systemClock(),
    schema,
    connect: host.claims === false ? undefined : await listenClient(settings, pool),
    notify: (channel, payload) => connections.query(NOTIFY, [channel, payload]),
    onWork: host.onWork,
    report,
    cleaned: failures.cleaned,
    connectTimeoutMs: settings.limits.connectTimeoutMs,
    pollIntervalMs: settings.pollIntervalMs,
    probeIntervalMs: settings.probeIntervalMs,
  })
  const records = createRecords(engine, report)
  const store: SharedStore = {
    ...records,
    ...createScans(engine, records.recordsIn),
    due: createDue(engine, records, report),
    write: announcingRest(records.write, host.onWork),
    aged: createAging(engine, retention),
    async close() {},
  }
  const storeNowMs = storeClock?.nowMs
  const runner = createSharedRunner({ store, storeNowMs, writeLastsMs: settings.limits.queryTimeoutMs + MARGIN_MS })
  const workers = createWorkers({
    parts: [leasingPart(engine)],
    partOf: () => 0,
    runner,
    clock: systemClock(),
    host,
    announce: () => listening.tell(),
    leaveMs: LEAVE_MS,
  })
  await workers.begin()
  const plain = createOpenStore({
    runner,
    indexes: runner.indexes,
    retention,
    worker: workers.nameFor,
    report,
    awaitsAnswers: host.awaitsAnswers,
  })
  const verbs = storeClock === undefined ? plain : inStoreTime(plain, storeClock)

  async function plainClaim(request: ClaimRequest): Promise<ClaimResult> {
    const noneLeft = listening.claiming()
    await workers.sure()
    await runner.takeBackLost((key) => !request.exclude.has(key))
    const result = await verbs.claim(request)
    if (result.nextDueMs === undefined || result.nextDueMs > request.nowMs) noneLeft()
    return result
  }

  async function settleIn(session: Session, settlement: Settlement, nowMs: number): Promise<boolean> {
    const within = createRecords(engine, report, engine.within(session.batch))
    const one = createSharedRunner({ store: { ...store, ...within }, storeNowMs: undefined, writeLastsMs: 0 })
    const by = storeNowMs === undefined ? 0 : storeNowMs() - nowMs
    const [held = false] = await one.run([settlementCommand(settlementIn(by)(settlement), nowMs + by)])
    runner.forget(settlement.messageKey)
    return held
  }

  const settle = async (settlements: readonly Settlement[], nowMs: number) => verbs.settle(settlements, nowMs)
  const transactions = transactional
    ? createTransactions({
        engine: transactionEngine(connections, failures, settleIn),
        contextOf: ({ client }): PostgresContext => ({ transaction: client }),
        maxConnections: settings.pool?.options.max ?? settings.maxConnections,
        claim: plainClaim,
        settle,
      })
    : undefined
  let closing: Promise<void> | undefined

  /** After the commit, in a transaction of its own: a transaction with NOTIFY makes other commits wait. */
  const { admitAndClaim, ...announced } = announcing(verbs, {
    announce: () => listening.tell(),
    announceAdmitted: () => (host.claims === false ? listening.tell() : listening.tellOfWhatIsLeft()),
    onWork: host.onWork,
  })
  const { admitAndClaim: _, ...others } = verbs
  return {
    ...others,
    isHeld: workers.isHeld,
    holders: workers.holders,
    ...announced,
    // With handler transactions, a claim opens one for each event.
    ...(transactions === undefined ? { admitAndClaim, notifiesRemaining: true, settleLingerMs: SETTLE_HOLD_MS } : {}),
    claim: transactions?.claim ?? plainClaim,
    settle: transactions?.settle ?? settle,
    close() {
      closing ??= (async () => {
        await transactions?.close()
        await workers.leave()
        await listening.stop()
        await connections.close()
      })()
      return closing
    },
    ...(transactions === undefined ? {} : { contextFor: transactions.contextFor }),
  }
}
