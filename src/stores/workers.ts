/** This process as a worker: sends heartbeats, and releases the leases of dead workers. */
import { randomBytes } from 'node:crypto'
import { systemClock, withDeadline } from '../runtime/clock.ts'
import { releaseCommand, type Runner } from '../inbox/runtime/commands.ts'
import type { WorkerState, StoreHost } from '../inbox/store.ts'
import { createHolding, type Holding } from './holding.ts'
import { changeList, createHeartbeat, leave, type WorkerList } from './liveness.ts'

/** A part that is unavailable must not keep a process from starting. */
const BEGIN_MS = 1_000

/** A part of the store with its own list of workers, which may be unavailable alone: a database, or a server of a cluster. */
export interface LeasingPart {
  readonly list: WorkerList
  /** The key of each leased record, and its worker. */
  leases(): Promise<readonly { readonly key: string; readonly worker: string }[]>
}

export function createWorkers(options: {
  readonly parts: readonly LeasingPart[]
  readonly partOf: (recordKey: string) => number
  readonly runner: Runner
  readonly host: StoreHost
  /** Notifies other processes that an event is due. */
  readonly announce: () => void
  /** How long closing waits until all leases are released. */
  readonly leaveMs: number
}) {
  const { parts, partOf, runner, host, announce, leaveMs } = options
  const clock = systemClock()
  const process = randomBytes(6).toString('base64url')
  const members = host.claims === false ? undefined : parts.map((part, at) => ({ part, holding: holdingIn(part, at) }))

  function holdingIn(part: LeasingPart, at: number): Holding {
    const holding = createHolding({
      clock,
      sendHeartbeat: createHeartbeat({
        list: part.list,
        process,
        isSure: () => isSure(holding),
        endLeases: (isEnded) => endLeases(part, isEnded),
        announce,
      }),
      onLost: () => host.onLost?.((recordKey) => partOf(recordKey) === at),
      onWork: host.onWork,
    })
    return holding
  }

  async function endLeases(part: LeasingPart, isEnded: (worker: string) => boolean): Promise<boolean> {
    const ended = (await part.leases()).filter(({ worker }) => isEnded(worker))
    const answers = await runner.run(ended.map(({ key, worker }) => releaseCommand(key, worker)))
    return answers.includes(true)
  }

  async function leavePart(part: LeasingPart, holding: Holding): Promise<void> {
    await holding.stop()
    const { id } = holding
    await changeList(part.list, (known, nowMs) => ({ liveness: leave(known, id, nowMs) }))
    if (await endLeases(part, (worker) => worker === id)) announce()
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
