/** Which workers live: decided on the list that they share, by whichever shows life next. */
import { MessagingWebhooksError } from '../public/errors.ts'
import { isRecord } from '../runtime/values.ts'
import { DEAD_AFTER_MS, GAP_MS, HOLDER_NAME, type Beat, type Beaten } from './holding.ts'

/** A write of a worker that was found dead may still arrive for so long: its leases are looked for with each heartbeat. */
const SWEPT_MS = 60_000
/** Others write the same list, each every two seconds. */
const MOST_ATTEMPTS = 20

interface WorkerLife {
  readonly id: string
  /** What tells its process from others. */
  readonly process: string
  /** The machine's name and the process id. */
  readonly name: string
  readonly sinceMs: number
  readonly seenMs: number
  /** When it was found dead, or left. */
  readonly goneMs?: number | undefined
}

export interface Liveness {
  /** Since then some worker has always shown life, without a gap; and when one did last. */
  readonly sinceMs: number
  readonly lastMs: number
  /** Leases of workers that the list does not have were not looked for yet. */
  readonly isUnswept: boolean
  readonly workers: readonly WorkerLife[]
}

interface ShownLife {
  readonly id: string
  readonly process: string
  readonly name: string
  /** Nobody can know it yet. */
  readonly isFirst: boolean
  /** Nobody can have taken it for dead yet: where the list lacks it, the list was lost. */
  readonly isSure: boolean
  /** As of this time of the list, it has ended the leases of workers that the list does not have. */
  readonly sweptMs: number | undefined
}

interface Shown {
  readonly liveness: Liveness
  /** False where it was taken for dead. */
  readonly isKnown: boolean
  readonly isAlone: boolean
  /** When the next of the others is dead, from now; undefined where there is none. */
  readonly nextDeathInMs: number | undefined
  /** Whether the leases of this worker end; undefined where none is to be looked for. */
  readonly endsLeaseOf: ((worker: string) => boolean) | undefined
  /** That says so of workers that the list does not have, too. */
  readonly endsUnlisted: boolean
}

/** The list as a store has it: `version` is compared for equality, and undefined where there is no list. */
interface StoredLiveness {
  readonly liveness: Liveness | undefined
  readonly version: string | undefined
  readonly nowMs: number
}

/** Where the list is. */
export interface WorkerList {
  read(): Promise<StoredLiveness>
  /** Answers false, and writes nothing, where the list has another version by now. */
  write(liveness: Liveness, version: string | undefined): Promise<boolean>
}

/** Decides about the list as it stands, and writes what comes of it. */
export async function changeList<T extends { readonly liveness: Liveness }>(
  { read, write }: WorkerList,
  decide: (known: Liveness | undefined, nowMs: number) => T,
): Promise<T> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const { liveness, version, nowMs } = await read()
    const decided = decide(liveness, nowMs)
    if (await write(decided.liveness, version)) return decided
  }
  throw new MessagingWebhooksError('store_slow', 'Others write the list of workers.')
}

/** Shows life of a worker of this process in the list, and ends the leases of those that are gone. */
export function createBeat(options: {
  readonly list: WorkerList
  readonly process: string
  readonly isSure: () => boolean
  /** Ends the leases of these workers; answers whether there were any. */
  readonly endLeases: (isEnded: (worker: string) => boolean) => Promise<boolean>
  /** Something is due for others. */
  readonly announce: () => void
}): (beat: Beat) => Promise<Beaten> {
  const { list, process, isSure, endLeases, announce } = options
  let sweptMs: number | undefined
  return async ({ id, isFirst }) => {
    const self: ShownLife = { id, isFirst, process, name: HOLDER_NAME, isSure: isSure(), sweptMs }
    const shown = await changeList(list, (known, nowMs) => showLife(known, self, nowMs))
    sweptMs = undefined
    if (shown.endsLeaseOf === undefined) return { ...shown, hasReleased: false }
    try {
      const hasReleased = await endLeases(shown.endsLeaseOf)
      if (shown.endsUnlisted) sweptMs = shown.liveness.lastMs
      if (hasReleased) announce()
      return { ...shown, hasReleased }
    } catch {
      // What fails here is done with the next heartbeat, and keeps no worker from living.
      return { ...shown, hasReleased: false }
    }
  }
}

/**
 * A worker shows life. Others that were silent for too long are gone, unless all were: then the server was unavailable, or its clock
 * was set, and all are given that time anew. Times far in the future are of a clock that was set back since.
 */
function showLife(known: Liveness | undefined, self: ShownLife, nowMs: number): Shown {
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
  // Who has entered since may have failed to look.
  const { sweptMs } = self
  const hasSwept = sweptMs !== undefined && listed.every((worker) => worker.sinceMs <= sweptMs)
  const isUnswept = known === undefined || self.isFirst || (known.isUnswept && !hasSwept)
  const hasGone = workers.some(({ goneMs }) => goneMs !== undefined)
  const livingIds = new Set(workers.flatMap((worker) => (worker.goneMs === undefined ? [worker.id] : [])))
  const goneIds = new Set(workers.flatMap((worker) => (worker.goneMs === undefined ? [] : [worker.id])))
  // A worker that the list lacks has as long as any other to show life.
  const endsLeaseOf = (worker: string): boolean => goneIds.has(worker) || (judges && !livingIds.has(worker))
  return {
    liveness: { sinceMs, lastMs: nowMs, isUnswept, workers },
    isKnown,
    isAlone: living.length === 0,
    nextDeathInMs:
      living.length === 0
        ? undefined
        : Math.max(sinceMs, Math.min(...living.map(({ seenMs }) => seenMs))) + DEAD_AFTER_MS + 1 - nowMs,
    endsLeaseOf: hasGone || (isUnswept && judges) ? endsLeaseOf : undefined,
    endsUnlisted: judges,
  }
}

/** A worker goes: its leases end. */
export function leave(known: Liveness | undefined, id: string, nowMs: number): Liveness {
  if (known === undefined) return { sinceMs: nowMs, lastMs: nowMs, isUnswept: true, workers: [] }
  const workers = known.workers.map((worker) => (worker.id === id ? { ...worker, goneMs: nowMs } : worker))
  return { ...known, workers }
}

function isWithin(ms: number, atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) <= ms
}

/** Undefined where the text is no such list. */
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
