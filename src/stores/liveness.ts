/** The shared list of workers. Each heartbeat decides which of them are alive. */
import { MessagingWebhooksError } from '../public/errors.ts'
import { isRecord } from '../runtime/values.ts'
import { DEAD_AFTER_MS, GAP_MS, WORKER_NAME, type Heartbeat, type HeartbeatAnswer } from './holding.ts'

/** How long a write of a dead worker may still arrive. Its leases are released again with each heartbeat. */
const SWEPT_MS = 60_000
/** Retries of a write to the list, which every worker changes every two seconds. */
const MAX_ATTEMPTS = 20

interface WorkerLife {
  readonly id: string
  readonly process: string
  /** Host name and process id. */
  readonly name: string
  readonly sinceMs: number
  readonly seenMs: number
  /** When the worker was declared dead, or left. */
  readonly goneMs?: number | undefined
}

export interface Liveness {
  /** The start of the current period without a gap in heartbeats, and the latest heartbeat. */
  readonly sinceMs: number
  readonly lastMs: number
  /** Whether a worker still has to look for leases of workers missing from the list. */
  readonly isUnswept: boolean
  readonly workers: readonly WorkerLife[]
}

interface WorkerSelf {
  readonly id: string
  readonly process: string
  readonly name: string
  /** Whether it is the first heartbeat of a new worker. */
  readonly isFirst: boolean
  /** The worker cannot have been declared dead yet: if the list lacks it, the list was lost. */
  readonly isSure: boolean
  /** The time in the list up to which it has released the leases of missing workers. */
  readonly sweptMs: number | undefined
}

export interface WorkerList {
  /** `version` is compared for equality, and undefined if there is no list. */
  read(): Promise<{
    readonly liveness: Liveness | undefined
    readonly version: string | undefined
    readonly nowMs: number
  }>
  /** Answers false and writes nothing if the list has another version. */
  write(liveness: Liveness, version: string | undefined): Promise<boolean>
}

/** Decides on the current list and writes the result. */
export async function changeList<T extends { readonly liveness: Liveness }>(
  { read, write }: WorkerList,
  decide: (known: Liveness | undefined, nowMs: number) => T,
): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { liveness, version, nowMs } = await read()
    const decided = decide(liveness, nowMs)
    if (await write(decided.liveness, version)) return decided
  }
  throw new MessagingWebhooksError('store_slow', 'Other processes kept writing the list of workers.')
}

/** The key of a leased record, and the worker that holds the lease. */
export interface HeldLease {
  readonly key: string
  readonly worker: string
}

/** Each heartbeat also releases the leases of dead workers. */
export function createHeartbeat(options: {
  readonly list: WorkerList
  readonly process: string
  readonly isSure: () => boolean
  readonly leases: () => Promise<readonly HeldLease[]>
  /** Releases these leases. Resolves to whether there were any. */
  readonly release: (leases: readonly HeldLease[]) => Promise<boolean>
  /** Gives back leases of this worker that it does not have in flight. Resolves to whether there were any. */
  readonly reconcile: (id: string) => Promise<boolean>
  /** Notifies other processes that an event is due. */
  readonly announce: () => void
}): (heartbeat: Heartbeat) => Promise<HeartbeatAnswer> {
  const { list, process, isSure, leases, release, reconcile, announce } = options
  let sweptMs: number | undefined
  return async ({ id, isFirst }) => {
    const self: WorkerSelf = { id, isFirst, process, name: WORKER_NAME, isSure: isSure(), sweptMs }
    const recorded = await changeList(list, (known, nowMs) => recordHeartbeat(known, self, nowMs))
    sweptMs = undefined
    try {
      const hasLost = recorded.isKnown && (await reconcile(id))
      const { endsLeaseOf } = recorded
      if (endsLeaseOf === undefined) return { ...recorded, hasReleased: hasLost }
      const held = await leases()
      // Read after the leases: a living worker that holds one of them has entered the list by now.
      const { liveness } = await list.read()
      const hasReleased = await release(held.filter(({ worker }) => endsLeaseOf(worker, liveness)))
      if (recorded.endsUnlisted) sweptMs = recorded.liveness.lastMs
      if (hasReleased) announce()
      return { ...recorded, hasReleased: hasReleased || hasLost }
    } catch {
      // The next heartbeat tries again. A failure to release must not fail this one.
      return { ...recorded, hasReleased: false }
    }
  }
}

/**
 * Handles a heartbeat. Other workers that were silent for `DEAD_AFTER_MS` are dead, unless all were silent: then the server was
 * unavailable or its clock was set, and all get that time again. Times far in the future come from a clock that was set back.
 */
function recordHeartbeat(known: Liveness | undefined, self: WorkerSelf, nowMs: number) {
  const isSteady = known !== undefined && Math.abs(nowMs - known.lastMs) <= GAP_MS && known.sinceMs <= nowMs + GAP_MS
  const sinceMs = isSteady ? known.sinceMs : nowMs
  const judges = sinceMs <= nowMs - DEAD_AFTER_MS
  const listed = (known?.workers ?? []).filter(
    ({ goneMs }) => goneMs === undefined || isWithin(SWEPT_MS, goneMs, nowMs),
  )
  const own = listed.find(({ id }) => id === self.id)
  const isKnown = own === undefined ? self.isFirst || self.isSure : own.goneMs === undefined
  const others = listed
    .filter(({ id }) => id !== self.id)
    .map((other) => {
      const isDead = isKnown && judges && other.goneMs === undefined && !isWithin(DEAD_AFTER_MS, other.seenMs, nowMs)
      return isDead ? { ...other, goneMs: nowMs } : other
    })
  const { id, process, name } = self
  const entered: WorkerLife = { id, process, name, sinceMs: own?.sinceMs ?? nowMs, seenMs: nowMs }
  const workers = isKnown ? [...others, entered] : own === undefined ? others : [...others, own]
  const living = others.filter(({ goneMs }) => goneMs === undefined)
  // A worker that entered after `sweptMs` may still have to look for leases.
  const { sweptMs } = self
  const hasSwept = sweptMs !== undefined && listed.every((worker) => worker.sinceMs <= sweptMs)
  const isUnswept = known === undefined || self.isFirst || (known.isUnswept && !hasSwept)
  const hasGone = workers.some(({ goneMs }) => goneMs !== undefined)
  const goneIds = new Set(workers.flatMap((worker) => (worker.goneMs === undefined ? [] : [worker.id])))
  // A worker missing from the list gets the full time for a heartbeat. An id that is gone never comes back. If the list was lost
  // meanwhile, the living are missing from `now` alone.
  const endsLeaseOf = (worker: string, now: Liveness | undefined): boolean =>
    goneIds.has(worker) ||
    (judges && now !== undefined && [...workers, ...now.workers].every(({ id }) => id !== worker))
  return {
    liveness: { sinceMs, lastMs: nowMs, isUnswept, workers },
    /** False if it was declared dead. */
    isKnown,
    isAlone: living.length === 0,
    setBackFromMs: known !== undefined && known.lastMs > nowMs + GAP_MS ? known.lastMs : undefined,
    nextDeathInMs:
      living.length === 0
        ? undefined
        : Math.max(sinceMs, Math.min(...living.map(({ seenMs }) => seenMs))) + DEAD_AFTER_MS + 1 - nowMs,
    /** Whether to release the leases of a worker, by the list as it is now. Undefined if there are no leases to look for. */
    endsLeaseOf: hasGone || (isUnswept && judges) ? endsLeaseOf : undefined,
    /** Whether `endsLeaseOf` also covers workers missing from the list. */
    endsUnlisted: judges,
  }
}

/** The list without a worker that leaves. The next heartbeats release its leases. */
export function leave(known: Liveness | undefined, id: string, nowMs: number): Liveness {
  if (known === undefined) return { sinceMs: nowMs, lastMs: nowMs, isUnswept: true, workers: [] }
  const workers = known.workers.map((worker) => (worker.id === id ? { ...worker, goneMs: nowMs } : worker))
  return { ...known, workers }
}

/**
 * Whether a list was lost that was read before, even if workers have entered another one since. A worker that died stays listed for
 * some time, and one that is listed again has a later `sinceMs`.
 */
export function isGone(before: Liveness | undefined, now: Liveness | undefined, elapsedMs: number): boolean {
  if (before === undefined || !isWithin(SWEPT_MS / 2, elapsedMs, 0)) return false
  const nameOf = ({ id, sinceMs }: WorkerLife): string => `${id} ${sinceMs}`
  const names = new Set(now?.workers.map(nameOf))
  return before.workers.some((worker) => worker.goneMs === undefined && !names.has(nameOf(worker)))
}

function isWithin(ms: number, atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) <= ms
}

/** Undefined if the text is not a list. */
export function readLiveness(text: string): Liveness | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isRecord(value)) return undefined
    const { sinceMs, lastMs, isUnswept, workers } = value
    if (typeof sinceMs !== 'number' || typeof lastMs !== 'number' || !Array.isArray(workers)) return undefined
    return { sinceMs, lastMs, isUnswept: isUnswept === true, workers: workers.filter(isWorker) }
  } catch {
    return undefined
  }
}

function isWorker(value: unknown): value is WorkerLife {
  if (!isRecord(value)) return false
  const { id, process, name, sinceMs, seenMs, goneMs } = value
  const areTexts = [id, process, name].every((each) => typeof each === 'string')
  const areTimes = [sinceMs, seenMs, goneMs ?? 0].every((each) => typeof each === 'number')
  return areTexts && areTimes
}
