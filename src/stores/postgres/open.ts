/** Opens the store: pool, tables, the connection that listens; and puts the verbs of the contract together. */
import type { Pool } from 'pg'
import { systemClock } from '../../clock.ts'
import type {
  Admission,
  AdmittedAndClaimed,
  Claim,
  ClaimRequest,
  ClaimResult,
  NewEvent,
  OpenStore,
  Settlement,
  StoreHost,
} from '../../inbox/store.ts'
import { createAdmission } from './admission.ts'
import { createClaiming, LOCKED_AGAIN_MS } from './claiming.ts'
import { loadPg, reach, type Place } from './connections.ts'
import { createEngine } from './engine.ts'
import { createExpecting } from './expecting.ts'
import { createForgetting } from './forgetting.ts'
import { FUNCTIONS } from './functions/set.ts'
import { createHolder } from './holders.ts'
import { readLatestTime, type ToldTime } from './latest-time.ts'
import { startListening, type ListenClient } from './listen.ts'
import { createListing } from './listing.ts'
import { migrate } from './migrate.ts'
import { checkDays } from './partition.ts'
import { readPrivileges } from './privileges.ts'
import { createPruning, slackMsOf, type Retention } from './pruning.ts'
import { createReading } from './reading.ts'
import { createSentTo } from './sent-to.ts'
import { createSettling, SETTLE_HOLD_MS } from './settling.ts'
import { createTakingBack } from './taking-back.ts'
import { createTransactions, type PostgresContext } from './transactions.ts'
import { createUpkeep } from './upkeep.ts'

/** Tells whoever listens on the channel $1: $2 says who tells. */
const NOTIFY = /* sql */ 'SELECT pg_notify($1::text, $2::text)'

export interface Settings extends Place {
  readonly schema: string
  readonly pollIntervalMs: number
  readonly probeIntervalMs: number
  readonly retention: Retention
  readonly transactional: boolean
  readonly clock: 'server' | 'caller'
  /** Of how many days partitions are, where there are to be any. */
  readonly partitionDays: number | undefined
}

/** A connection beside the pool: the pool's own may go through a pooler, which delivers no notifications. */
async function listenClient({ listenConnectionString }: Settings, pool: Pool): Promise<() => ListenClient> {
  const pg = await loadPg()
  const own = { connectionString: listenConnectionString, keepAlive: true, application_name: 'messaging-webhooks' }
  return () => new pg.Client(listenConnectionString === undefined ? pool.options : own)
}

/** `functions`: others than ours for a test of two versions. */
export async function openPostgres(
  settings: Settings,
  host: StoreHost,
  functions = FUNCTIONS,
): Promise<OpenStore<PostgresContext>> {
  const { schema, retention, transactional } = settings
  const { connections, failures, pool } = await reach(settings)
  const report = host.report ?? (() => {})
  let told: ToldTime
  let partitionDays: number | undefined
  const engine = createEngine({ connections, schema, clock: settings.clock, functions })
  try {
    ;({ partitionDays } = await migrate(connections, schema, failures, functions, settings.partitionDays))
    checkDays(schema, partitionDays, settings.partitionDays)
    const { forbidden } = await readPrivileges(connections.query, schema, functions)
    // Who claims nothing may only look, which takes less.
    if (forbidden !== undefined && host.claims !== false) throw forbidden
    if (forbidden !== undefined) report(forbidden)
    if (partitionDays !== undefined) await createUpkeep(engine).ahead(systemClock().now())
    told = await readLatestTime(engine, settings.clock, report)
  } catch (error) {
    await connections.close()
    throw failures.asThrown(error)
  }

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
  const byCallers = settings.clock === 'caller'
  const holder = createHolder({
    engine,
    clock: systemClock(),
    host,
    byCallers,
    tell: () => listening.tell(),
  })
  await holder.begin()
  const admission = createAdmission(engine, report)
  const settling = createSettling(engine, slackMsOf(retention, partitionDays), () => systemClock().soon(host.onWork))
  const claimDue = createClaiming({ engine, settle: settling.settle, report })
  const { leasing, takeBack } = createTakingBack({ engine, byCallers, settle: settling.settle })
  async function plainClaim(request: ClaimRequest): Promise<ClaimResult> {
    const noneLeft = listening.claiming()
    const { result, holder: leasedTo } = await holder.leasing(async (id) => {
      await takeBack(request, id)
      return leasing(() => claimDue(request, id))
    })
    if (result === undefined) return { claims: [], nextDueMs: request.nowMs + LOCKED_AGAIN_MS }
    if (!holder.isStill(leasedTo))
      return { claims: await giveBack(result.claims, request.nowMs), nextDueMs: request.nowMs }
    if (result.nextDueMs === undefined || result.nextDueMs > request.nowMs + LOCKED_AGAIN_MS) noneLeft()
    return result
  }
  const prune = createPruning(engine, retention, report)
  const maxConnections = settings.pool?.options.max ?? settings.maxConnections
  const transactions = transactional
    ? createTransactions({ connections, maxConnections, claim: plainClaim, settling, failures })
    : undefined
  const { claim, settle } = transactions ?? { claim: plainClaim, settle: settling.settle }
  let closing: Promise<void> | undefined

  /** After the commit and outside of it: a transaction that notifies makes all others wait to commit. */
  function tellOf(admissions: readonly Admission[], claimed = 0): void {
    // What is leased here, or was known, is nothing to others.
    if (admissions.filter((admission) => admission !== 'duplicate').length <= claimed) return
    if (host.claims === false) listening.tell()
    else listening.tellOfWhatIsLeft()
  }

  /** Nobody has seen them. */
  async function giveBack(claims: readonly Claim[], nowMs: number): Promise<readonly Claim[]> {
    const unbegun = claims.map(({ id, messageKey, token }): Settlement => {
      return { id, messageKey, token, outcome: 'unbegun', dueMs: nowMs }
    })
    // Where this fails, too, they are released with all that the dead holder had.
    if (unbegun.length > 0) await settling.settle(unbegun, nowMs).catch(() => [])
    return []
  }

  async function admitAndClaim(events: readonly NewEvent[], request: ClaimRequest): Promise<AdmittedAndClaimed> {
    await told.tell(request.nowMs)
    const id = holder.now
    if (id === undefined) return { admissions: await admit(events, request.nowMs), claims: [] }
    try {
      const { admissions, claims } = await leasing(() => admission.admitAndClaim(events, request, id))
      tellOf(admissions, claims.length)
      return { admissions, claims: holder.isStill(id) ? claims : await giveBack(claims, request.nowMs) }
    } catch (error) {
      // It may have leased them all the same; the next claim looks.
      systemClock().soon(host.onWork)
      throw error
    }
  }

  async function admit(events: readonly NewEvent[], nowMs: number): Promise<readonly Admission[]> {
    await told.tell(nowMs)
    const admissions = await admission.admit(events, nowMs)
    tellOf(admissions)
    return admissions
  }

  return {
    ...createReading(engine),
    ...createListing(engine),
    ...createForgetting(engine, () => listening.tell()),
    ...createExpecting(engine, report, () => listening.tell()),
    sentTo: createSentTo(engine),
    async admitOverdue(events, nowMs) {
      await told.tell(nowMs)
      const admitted = await admission.admitOverdue(events, nowMs)
      if (admitted.includes(true)) listening.tell()
      return admitted
    },
    latestNowMs: told.atOpening,
    isHeld: holder.isHeld,
    holders: holder.holders,
    admit,
    // With transactions, a claim begins one for each event.
    ...(transactions === undefined ? { admitAndClaim, tellsOfRest: true, settleHoldMs: SETTLE_HOLD_MS } : {}),
    async claim(request) {
      await told.tell(request.nowMs)
      return claim(request)
    },
    async settle(settlements, nowMs) {
      await told.tell(nowMs)
      return settle(settlements, nowMs)
    },
    async resolve(id, resolution, nowMs) {
      const found = await settling.resolve(id, resolution, nowMs)
      if (found && resolution !== 'discard') listening.tell()
      return found
    },
    prune,
    close() {
      closing ??= (async () => {
        await transactions?.close()
        await holder.leave()
        await listening.stop()
        await connections.close()
      })()
      return closing
    },
    ...(transactions === undefined ? {} : { contextFor: transactions.contextFor }),
  }
}
