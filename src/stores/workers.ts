/** This process as a worker that holds leases: it shows life, and ends the leases of workers that are gone. */
import { randomBytes } from 'node:crypto'
import { withDeadline, type Clock } from '../runtime/clock.ts'
import { releaseCommand, type Runner } from '../inbox/runtime/commands.ts'
import type { StoreHolder, StoreHost } from '../inbox/store.ts'
import { createHolding, type Holding } from './holding.ts'
import { changeList, createBeat, leave, type WorkerList } from './liveness.ts'

/** What is unavailable does not keep a process from starting. */
const BEGIN_MS = 1_000

/** What has a list of workers of its own, and may be unavailable alone: a database, a server of a cluster. */
export interface LeasingPart {
  readonly list: WorkerList
  /** Of each record under a lease its key, and who has the lease. */
  leases(): Promise<readonly { readonly key: string; readonly worker: string }[]>
}

interface WorkersOptions {
  readonly parts: readonly LeasingPart[]
  /** The part that has a record. */
  readonly partOf: (recordKey: string) => number
  readonly runner: Runner
  readonly clock: Clock
  readonly host: StoreHost
  /** To be called where something is due for others, too. */
  readonly announce: () => void
  /** Closing waits so long until all is given back. */
  readonly leaveMs: number
}

export function createWorkers({ parts, partOf, runner, clock, host, announce, leaveMs }: WorkersOptions) {
  const process = randomBytes(6).toString('base64url')
  const members = host.claims === false ? undefined : parts.map((part, at) => ({ part, holding: holdingIn(part, at) }))

  function holdingIn(part: LeasingPart, at: number): Holding {
    const holding = createHolding({
      clock,
      beat: createBeat({
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

  async function holdersIn({ list, leases }: LeasingPart) {
    const [{ liveness, nowMs }, leased] = await Promise.all([list.read(), leases()])
    const living = liveness?.workers.filter(({ goneMs }) => goneMs === undefined) ?? []
    return living.map(({ id, name, process: from, sinceMs, seenMs }) => {
      const held = leased.filter(({ worker }) => worker === id).length
      const silentMs = Math.max(0, nowMs - seenMs)
      return { process: from, holder: { id, name, isSelf: from === process, sinceMs, silentMs, held } }
    })
  }

  const holdingOf = (recordKey: string): Holding | undefined => members?.[partOf(recordKey)]?.holding

  return {
    /** Shows life from now on. */
    async begin(): Promise<void> {
      const begun = Promise.allSettled(members?.map(async ({ holding }) => holding.sure()) ?? [])
      // What it cannot say yet it says with the next heartbeat.
      await withDeadline<unknown>(clock, BEGIN_MS, begun, () => undefined)
    },
    /** The name to lease a record under; undefined where others may have taken this process for dead. */
    nameFor(recordKey: string): string | undefined {
      const holding = holdingOf(recordKey)
      return isSure(holding) ? (holding?.id ?? '') : undefined
    },
    /** Whether records of a part can be leased now. */
    mayLease: (part: number) => isSure(members?.[part]?.holding),
    /** Resolves once something may be leased; rejects where no part of the store answers. */
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
    async holders(): Promise<readonly StoreHolder[]> {
      const processes = new Map<string, StoreHolder>()
      for (const { process: from, holder } of (await answered(parts.map(holdersIn))).flat()) {
        const other = processes.get(from)
        processes.set(from, other === undefined ? holder : together(other, holder))
      }
      return [...processes.values()].toSorted((a, b) => (a.sinceMs ?? 0) - (b.sinceMs ?? 0) || (a.id < b.id ? -1 : 1))
    },
    /** Gives back what is still leased. */
    async leave(): Promise<void> {
      const left = Promise.allSettled(members?.map(async ({ part, holding }) => leavePart(part, holding)) ?? [])
      // What takes longer, others take when they find no heartbeat.
      await withDeadline<unknown>(clock, leaveMs, left, () => undefined)
    },
  }
}

/** One that never leases needs no heartbeat. */
function isSure(holding: Holding | undefined): boolean {
  return holding === undefined || holding.isHeld() === true
}

/** One process, as two parts know it; servers of a cluster have clocks of their own. */
function together(one: StoreHolder, other: StoreHolder): StoreHolder {
  return {
    ...one,
    sinceMs: Math.min(one.sinceMs ?? Infinity, other.sinceMs ?? Infinity),
    silentMs: Math.min(one.silentMs, other.silentMs),
    held: one.held + other.held,
  }
}

/** Of what was asked of several servers, what was answered; rejects where none did. */
export async function answered<T>(asked: readonly Promise<T>[]): Promise<readonly T[]> {
  const results = await Promise.allSettled(asked)
  const values = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const failure = results.find((result) => result.status === 'rejected')
  if (values.length === 0 && failure !== undefined) throw failure.reason
  return values
}
