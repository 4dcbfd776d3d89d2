/** This process as a worker: sends heartbeats, and releases the leases of dead workers. */
import { randomBytes } from 'node:crypto'
import { monotonicMs, systemClock, withDeadline } from '../runtime/clock.ts'
import type { SharedRunner } from './compare-and-set.ts'
import type { WorkerState, StoreHost } from '../inbox/store.ts'
import { createHolding, type Holding } from './holding.ts'
import { changeList, createHeartbeat, leave, type HeldLease, type WorkerList } from './liveness.ts'

/** A part that is unavailable must not keep a process from starting. */
const BEGIN_MS = 1_000

/** A part of the store with its own list of workers, which may be unavailable alone: a database, or a server of a cluster. */
export interface LeasingPart {
  readonly list: WorkerList
  leases(): Promise<readonly HeldLease[]>
}

export function createWorkers(options: {
  readonly parts: readonly LeasingPart[]
  readonly partOf: (recordKey: string) => number
  readonly run: SharedRunner['run']
  readonly host: StoreHost
  /** Called when the clock of a server was set back from this time. */
  readonly onSetBack: (fromMs: number) => void
  /** Until when, by `monotonicMs`, a write may still grant a lease of which this process does not know: its answer was lost. */
  readonly lostUntilMs: () => number
  /** Whether a call about this message is under way, and may still answer with a lease. */
  readonly isRunning: (recordKey: string) => boolean
  /** Notifies other processes that an event is due. */
  readonly announce: () => void
  /** How long closing waits until all leases are released. */
  readonly leaveMs: number
}) {
  const { parts, partOf, run, host, announce, leaveMs, lostUntilMs, isRunning, onSetBack } = options
  const clock = systemClock()
  const process = randomBytes(6).toString('base64url')
  const members = !host.claims ? undefined : parts.map((part, at) => ({ part, holding: holdingIn(part, at) }))

  function holdingIn(part: LeasingPart, at: number): Holding {
    /** When the last reconciliation began. */
    let reconciledMs = monotonicMs()
    /** Looks for lost leases as long as a write may grant one, and once more. */
    async function reconcileAfterLoss(id: string): Promise<boolean> {
      if (reconciledMs > lostUntilMs()) return false
      const beganMs = monotonicMs()
      const hasLost = await reconcile(part, id)
      reconciledMs = beganMs
      return hasLost
    }
    const holding = createHolding({
      clock,
      sendHeartbeat: createHeartbeat({
        list: part.list,
        process,
        isSure: () => isSure(holding),
        leases: () => part.leases(),
        release,
        reconcile: reconcileAfterLoss,
        announce,
      }),
      onLost: () => host.onLost((recordKey) => partOf(recordKey) === at),
      onWork: host.onWork,
      onSetBack,
    })
    return holding
  }

  async function release(leases: readonly HeldLease[]): Promise<boolean> {
    const answers = await run(leases.map(({ key, worker }) => ({ do: 'release' as const, key, worker })))
    return answers.includes(true)
  }

  /** Gives back leases of this process that it does not have in flight, because the answers that granted them were lost. */
  async function reconcile(part: LeasingPart, id: string): Promise<boolean> {
    const isLost = (key: string): boolean => !isRunning(key) && host.inFlight(key) === undefined
    const keys = (await part.leases()).flatMap(({ key, worker }) => (worker === id && isLost(key) ? [key] : []))
    const records = await run(keys.map((key) => ({ do: 'read', key }) as const))
    const lost = records.flatMap((record, index) => {
      const [key, lease] = [keys[index], record?.lease]
      // A lease that was granted meanwhile is in flight by now.
      if (key === undefined || lease?.worker !== id || !isLost(key)) return []
      return [{ do: 'release' as const, key, worker: id, token: lease.token }]
    })
    const answers = await run(lost)
    return answers.includes(true)
  }

  async function leavePart(part: LeasingPart, holding: Holding): Promise<void> {
    await holding.stop()
    const { id } = holding
    await changeList(part.list, (known, nowMs) => ({ liveness: leave(known, id, nowMs) }))
    if (await release((await part.leases()).filter(({ worker }) => worker === id))) announce()
  }

  async function workersIn({ list, leases }: LeasingPart) {
    const [{ liveness, nowMs }, leased] = await Promise.all([list.read(), leases()])
    const living = liveness?.workers.filter(({ goneMs }) => goneMs === undefined) ?? []
    return living.map(({ id, name, process: from, sinceMs, seenMs }) => {
      const held = leased.filter(({ worker }) => worker === id).length
      const silentMs = Math.max(0, nowMs - seenMs)
      return { process: from, worker: { id, name, isSelf: from === process, sinceMs, silentMs, held } }
    })
  }

  const holdingOf = (recordKey: string): Holding | undefined => members?.[partOf(recordKey)]?.holding

  return {
    /** Starts the heartbeat. */
    async begin(): Promise<void> {
      const sure = Promise.allSettled(members?.map(async ({ holding }) => holding.sure()) ?? [])
      // After a failure, the next heartbeat tries again.
      await withDeadline<unknown>(clock, BEGIN_MS, sure, () => undefined)
    },
    /** The worker id for leasing a record. Undefined if this process may have been declared dead. */
    nameFor(recordKey: string): string | undefined {
      const holding = holdingOf(recordKey)
      return isSure(holding) ? (holding?.id ?? '') : undefined
    },
    /** Whether records of a part can be leased now. */
    mayLease: (part: number) => isSure(members?.[part]?.holding),
    /** Resolves once leases can be granted. Rejects if no part of the store answers. */
    async sure(): Promise<void> {
      if (members === undefined || members.some(({ holding }) => isSure(holding))) return
      await Promise.any(members.map(async ({ holding }) => holding.sure())).catch((error: unknown) => {
        throw error instanceof AggregateError ? error.errors[0] : error
      })
    },
    isHeld(recordKey: string): boolean | undefined {
      const holding = holdingOf(recordKey)
      return holding === undefined ? true : holding.isHeld()
    },
    async listed(): Promise<readonly WorkerState[]> {
      const processes = new Map<string, WorkerState>()
      for (const { process: from, worker } of (await answered(parts.map(workersIn))).flat()) {
        const other = processes.get(from)
        processes.set(from, other === undefined ? worker : together(other, worker))
      }
      return [...processes.values()].toSorted((a, b) => (a.sinceMs ?? 0) - (b.sinceMs ?? 0) || (a.id < b.id ? -1 : 1))
    },
    /** Releases the remaining leases. */
    async leave(): Promise<void> {
      const left = Promise.allSettled(members?.map(async ({ part, holding }) => leavePart(part, holding)) ?? [])
      // If it takes longer, other workers release the leases for lack of a heartbeat.
      await withDeadline<unknown>(clock, leaveMs, left, () => undefined)
    },
  }
}

/** A process that never leases needs no heartbeat. */
function isSure(holding: Holding | undefined): boolean {
  return holding === undefined || holding.isHeld() === true
}

/** Combines the states of one process in two parts. Servers of a cluster have different clocks. */
function together(one: WorkerState, other: WorkerState): WorkerState {
  return {
    ...one,
    sinceMs: Math.min(one.sinceMs ?? Infinity, other.sinceMs ?? Infinity),
    silentMs: Math.min(one.silentMs, other.silentMs),
    held: one.held + other.held,
  }
}

/** The answers of the servers that answered. Rejects if none did. */
export async function answered<T>(asked: readonly Promise<T>[]): Promise<readonly T[]> {
  const results = await Promise.allSettled(asked)
  const values = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failure = results.find((result) => result.status === 'rejected')
  if (values.length === 0 && failure !== undefined) throw failure.reason
  return values
}
