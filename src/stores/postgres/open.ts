/** Opens the store: pool, tables, the connection that listens; and puts the verbs of the contract together. */
import type { Pool } from 'pg'
import { systemClock } from '../../clock.ts'
import type {
  Admission,
  AdmittedAndClaimed,
  ClaimRequest,
  ClaimResult,
  NewEvent,
  OpenStore,
  StoreHost,
} from '../../inbox/store.ts'
import { createAdmission } from './admission.ts'
import { createClaiming, LOCKED_AGAIN_MS } from './claiming.ts'
import { createConnections, type Connections, type TimeLimits } from './connections.ts'
import { loadPg } from './driver.ts'
import { createEngine } from './engine.ts'
import { createFailures, type Failures } from './failures.ts'
import { startListening, type ListenClient } from './listen.ts'
import { readLatestTime, type ToldTime } from './latest-time.ts'
import { migrate, pending, type Migrated } from './migrate.ts'
import { secretsOf } from './secrets.ts'
import { createPruning, slackMsOf, type Retention } from './pruning.ts'
import { createListing } from './listing.ts'
import { createReading } from './reading.ts'
import { createSettling } from './settling.ts'
import { NOTIFY } from './statements/notify.ts'
import { createTransactions, type PostgresContext } from './transactions.ts'

/** Where the database is: a pool that the application has, or an address. */
export interface Place {
  readonly pool: Pool | undefined
  readonly connectionString: string | undefined
  readonly listenConnectionString: string | undefined
  readonly maxConnections: number
  readonly limits: TimeLimits
}

export interface Settings extends Place {
  readonly schema: string
  readonly pollIntervalMs: number
  readonly probeIntervalMs: number
  readonly retention: Retention
  readonly transactional: boolean
  readonly clock: 'server' | 'caller'
}

interface Reached {
  readonly connections: Connections
  readonly failures: Failures
  readonly pool: Pool
}

/** A pool, ours or the application's, of which nothing hangs and nothing ends the process. */
async function reach({
  pool,
  connectionString,
  listenConnectionString,
  maxConnections,
  limits,
}: Place): Promise<Reached> {
  const failures = createFailures(secretsOf(pool, connectionString, listenConnectionString))
  const clock = systemClock()
  if (pool !== undefined)
    return { pool, failures, connections: createConnections({ pool, owned: false, clock, limits, failures }) }
  const pg = await loadPg()
  const own = new pg.Pool({
    ...(connectionString === undefined ? {} : { connectionString }),
    max: maxConnections,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    keepAlive: true,
    application_name: 'messaging-webhooks',
  })
  return { pool: own, failures, connections: createConnections({ pool: own, owned: true, clock, limits, failures }) }
}

/** Applies the migrations and ends every connection that it made. */
export async function migrateOnce(place: Place, schema: string): Promise<Migrated> {
  const { connections, failures } = await reach(place)
  try {
    return await migrate(connections, schema, failures)
  } finally {
    await connections.close()
  }
}

/** Says what is missing and ends every connection that it made. */
export async function pendingOnce(place: Place, schema: string): Promise<Migrated> {
  const { connections } = await reach(place)
  try {
    return await pending(connections, schema)
  } finally {
    await connections.close()
  }
}

/** A connection beside the pool: the pool's own may go through a pooler, which delivers no notifications. */
async function listenClient({ listenConnectionString }: Settings, pool: Pool): Promise<() => ListenClient> {
  const pg = await loadPg()
  const own = { connectionString: listenConnectionString, keepAlive: true, application_name: 'messaging-webhooks' }
  return () => new pg.Client(listenConnectionString === undefined ? pool.options : own)
}

export async function openPostgres(settings: Settings, host: StoreHost): Promise<OpenStore<PostgresContext>> {
  const { schema, retention, transactional } = settings
  const { connections, failures, pool } = await reach(settings)
  const report = host.report ?? (() => {})
  let told: ToldTime
  const engine = createEngine({ connections, schema, clock: settings.clock })
  try {
    await migrate(connections, schema, failures)
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
  const admission = createAdmission(engine, report)
  const settling = createSettling(engine, slackMsOf(retention))
  const claimDue = createClaiming({ engine, settle: settling.settle, report })
  async function plainClaim(request: ClaimRequest): Promise<ClaimResult> {
    const noneLeft = listening.claiming()
    const result = await claimDue(request)
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

  async function admitAndClaim(events: readonly NewEvent[], request: ClaimRequest): Promise<AdmittedAndClaimed> {
    await told.tell(request.nowMs)
    const result = await admission.admitAndClaim(events, request)
    tellOf(result.admissions, result.claims.length)
    return result
  }

  return {
    ...createReading(engine),
    ...createListing(engine),
    latestNowMs: told.atOpening,
    async admit(events, nowMs) {
      await told.tell(nowMs)
      const admissions = await admission.admit(events, nowMs)
      tellOf(admissions)
      return admissions
    },
    // With transactions, a claim begins one for each event.
    ...(transactions === undefined ? { admitAndClaim } : {}),
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
        await Promise.all([listening.stop(), transactions?.close()])
        await connections.close()
      })()
      return closing
    },
    ...(transactions === undefined ? {} : { contextFor: transactions.contextFor }),
  }
}
