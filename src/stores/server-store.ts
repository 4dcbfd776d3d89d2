/** Composes a store on servers from its engine, heartbeats, notifications and handler transactions. */
import { monotonicMs, pause, systemClock } from '../runtime/clock.ts'
import type { Awaitable, Due, DueRequest, MessageStore, StoreHost } from '../inbox/store.ts'
import type { AnswerOf, Command, Retention } from '../messages/commands.ts'
import { catchUp } from './catch-up.ts'
import { createSharedRunner } from './compare-and-set.ts'
import type { SharedEngine, VersionedChange } from './engine.ts'
import { createScan } from './lists.ts'
import { createTransactions, type TransactionEngine } from './transactions.ts'
import { createTrustedTime } from './trusted-time.ts'
import { createWorkers, type LeasingPart } from './workers.ts'

/** A statement may run this much longer than its time limit after its client has disconnected. */
const MARGIN_MS = 2_000

export interface ServerStoreOptions<Session, Context extends object> {
  /** `mayLease`: whether this process can lease records of a part now. */
  readonly createEngine: (mayLease: (part: number) => boolean) => SharedEngine
  readonly host: StoreHost
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
): Promise<MessageStore<Context>> {
  const { host, waking, retention } = options
  const clock = systemClock()
  const engine = options.createEngine((part) => workers.mayLease(part))
  const trusted = createTrustedTime(host.wallMs(), host.elapsedMs)
  /** For sends: a process trusts the clock at its start, so that messages are overdue at once after a standstill. */
  const lasting = createTrustedTime(undefined, host.elapsedMs)
  const about = () => ({ trustedMs: trusted.ofNow(engine.nowMs()), retention })
  const runner = createSharedRunner({
    engine,
    workerFor: (key) => workers.nameFor(key),
    about,
    onApplied: announce,
    onLeaseLost,
  })
  /** Notifies after the commit, in a separate transaction: a transaction with NOTIFY makes other commits of Postgres wait. */
  const { notify, notifyOfRemaining = notify } = waking
  const notifyOfDue = host.claims ? notifyOfRemaining : notify
  /** Keys of running calls, with the number of those. Their leases are not lost yet. */
  const running = new Map<string, number>()
  let lostUntilMs = -Infinity
  const workers = createWorkers({
    ...options,
    run: runner.run,
    announce: notify,
    lostUntilMs: () => lostUntilMs,
    isRunning: (key) => running.has(key),
    onSetBack: (fromMs) => void catchUpFrom(fromMs),
  })
  await workers.begin()

  /** Tries again until it succeeds, because no other process knows of it. */
  async function catchUpFrom(fromMs: number): Promise<void> {
    const dueBy = async (nowMs: number, limit: number, exclude: ReadonlySet<string>) =>
      (await runner.due({ of: 'events', limit, exclude, nowMs })).keys
    try {
      await catchUp({ dueBy, run: runner.run }, fromMs)
      host.onWork()
    } catch {
      clock.setTimer(() => void catchUpFrom(fromMs), CATCH_UP_AGAIN_MS)
    }
  }

  /** Leases that this process grants itself are its own work. Everything else that is due may be work for others. */
  function announce({ after }: VersionedChange): void {
    const first = after?.waiting[0]
    if (first !== undefined && after?.lease === undefined && first.dueMs <= engine.nowMs()) notifyOfDue()
  }

  /** Heartbeats give the leases back until the write can no longer take effect. */
  function onLeaseLost(): void {
    lostUntilMs = monotonicMs() + options.queryTimeoutMs + MARGIN_MS
  }

  async function run<C extends Command>(commands: readonly C[]): Promise<readonly AnswerOf<C>[]> {
    for (const { key } of commands) running.set(key, (running.get(key) ?? 0) + 1)
    try {
      return await runner.run(commands)
    } catch (error) {
      // Leases may have been granted all the same.
      onLeaseLost()
      throw error
    } finally {
      // By then the caller has the leases in flight.
      clock.soon(() => hasRun(commands))
    }
  }

  function hasRun(commands: readonly Command[]): void {
    for (const { key } of commands) {
      const count = running.get(key) ?? 0
      if (count > 1) running.set(key, count - 1)
      else running.delete(key)
    }
  }

  /** Deferrable commands wait, and their caller gathers others meanwhile: each call costs a server more than a few commands. */
  async function runLater<C extends Command>(
    commands: readonly C[],
    deferrable = false,
  ): Promise<readonly AnswerOf<C>[]> {
    if (deferrable && commands.length < ENOUGH) await pause(clock, DEFER_MS)
    return run(commands)
  }

  function timeFor(of: DueRequest['of']): number {
    if (of === 'retention') return about().trustedMs
    return of === 'sends' ? lasting.ofNow(engine.nowMs()) : engine.nowMs()
  }

  async function due({ of, limit, exclude = NO_KEYS }: DueRequest): Promise<Due> {
    const noneLeft = of === 'events' ? waking.claiming?.() : undefined
    if (of === 'events') await workers.sure()
    const nowMs = timeFor(of)
    const { keys, nextMs } = await runner.due({ of, limit, exclude, nowMs })
    if (nextMs === undefined || nextMs > nowMs) noneLeft?.()
    return { keys, nextInMs: nextMs === undefined ? undefined : Math.max(0, nextMs - nowMs) }
  }

  const engineOfTransactions = options.transactions
  let closing: Promise<void> | undefined
  return {
    run: runLater,
    due,
    scan: createScan(engine),
    counts: engine.counts,
    isHeld: workers.isHeld,
    workers: workers.listed,
    transactions:
      engineOfTransactions &&
      createTransactions({ engine: engineOfTransactions, runner, shared: engine, about, onCommitted: announce }),
    close() {
      closing ??= (async () => {
        await workers.leave()
        await waking.stop()
        await options.close()
      })()
      return closing
    },
  }
}

const CATCH_UP_AGAIN_MS = 1_000

/**
 * At 1,000 events a second in one or four processes, the server spent 1.2 to 1.5 times the CPU without it. With the next admission
 * instead, settlements cost Postgres 1.1 times as much.
 */
const DEFER_MS = 20
/**
 * So many commands are worth a call. At full load all of them would wait otherwise, so that too many events are in flight, and
 * admissions lease no more: Postgres then spent 1.4 times the CPU.
 */
const ENOUGH = 32

const NO_KEYS: ReadonlySet<string> = new Set()
