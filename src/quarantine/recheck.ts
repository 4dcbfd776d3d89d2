/**
 * Verifies again, by itself, what came while credentials could not be looked up: after a pause that doubles, and as soon
 * as a look-up succeeds. No timer runs while nothing waits, and none keeps the process alive.
 */
import type { Clock } from '../runtime/clock.ts'
import type { KeptRequest } from './request.ts'

type Name = string | undefined

interface RecheckOptions {
  readonly clock: Clock
  readonly names: ReturnType<typeof createNames>
  /** How many wait, and which. */
  readonly count: () => number
  readonly waiting: () => readonly KeptRequest[]
  /** Verifies what is picked and returns the names whose look-up failed again. Rejects where the store is not there. */
  readonly run: (pick: () => readonly KeptRequest[]) => Promise<ReadonlySet<Name>>
  readonly failed: (error: unknown) => void
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/**
 * Strangers choose the names, so a run asks for a few. Names that were proved once, and those that most requests bear, are
 * asked for in each, so that no number of names that fail keeps the real one waiting; the others in turn.
 */
const MOST_NAMES = 64
const MOST_PROVED = 32
const MOST_HEAVY = 16
const NAMES_KEPT = 256

export function createRecheck({ clock, names, count, waiting, run, failed }: RecheckOptions) {
  let pauseMs = FIRST_PAUSE_MS
  let endedMs = -Infinity
  let running = false
  let stopped = false
  let cancelTimer: (() => void) | undefined
  /** Names in the order in which it is their turn; whoever was asked for goes behind all that wait by then. */
  const queue = new Set<Name>()
  /** Names that were asked for in this round, and failed. */
  const failedNames = new Set<Name>()

  /** Something waits: sets the timer, unless it is set. */
  function schedule(): void {
    if (stopped || running || cancelTimer !== undefined) return
    cancelTimer = clock.setTimer(() => void recheck(), pauseMs)
  }

  async function recheck(): Promise<void> {
    cancelTimer?.()
    cancelTimer = undefined
    running = true
    let hasFailed = false
    while (!hasFailed && !stopped && count() > 0) hasFailed = !(await recheckNames(nextNames()))
    running = false
    endedMs = clock.now()
    if (!hasFailed) {
      pauseMs = FIRST_PAUSE_MS
      failedNames.clear()
    } else {
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      schedule()
    }
  }

  /** Whether all look-ups succeeded. */
  async function recheckNames(picked: ReadonlySet<Name>): Promise<boolean> {
    try {
      const failedNow = await run(() => waiting().filter(({ project }) => picked.has(project)))
      for (const name of failedNow) {
        failedNames.add(name)
        queue.delete(name)
        queue.add(name)
      }
      return failedNow.size === 0
    } catch (error) {
      failed(error)
      return false
    }
  }

  function nextNames(): ReadonlySet<Name> {
    const byName = names.inOrder(waiting())
    const ranked = [...byName.keys()]
    const proved = ranked.filter(names.isProved).slice(0, MOST_PROVED)
    const bearMore = ranked.filter((name) => !names.isProved(name) && (byName.get(name)?.length ?? 0) > 1)
    const picked = new Set([...proved, ...bearMore.slice(0, MOST_HEAVY)])
    for (const name of queue) if (!byName.has(name)) queue.delete(name)
    for (const { project } of waiting()) queue.add(project)
    const [first] = queue
    if (failedNames.has(first)) failedNames.clear()
    for (const name of queue) {
      if (picked.size >= MOST_NAMES || failedNames.has(name)) break
      picked.add(name)
    }
    return picked
  }

  return {
    schedule,
    /** The look-up of this name succeeded; where it proved a callback, that is remembered. */
    lookedUp(name: Name, proved: boolean): void {
      if (proved) names.proved(name)
      if (running || stopped || count() === 0 || Math.abs(clock.now() - endedMs) < FIRST_PAUSE_MS) return
      void recheck()
    },
    stop(): void {
      stopped = true
      cancelTimer?.()
    },
  }
}

/** Whose credentials are looked up first when kept requests are verified again: strangers choose most of the names. */
export function createNames() {
  const proved = new Set<Name>()
  const slow = new Set<Name>()

  function rank(name: Name): number {
    if (proved.has(name)) return 0
    return slow.has(name) ? 2 : 1
  }

  return {
    /** A callback of this project was proved, so the name is none that a stranger made up. */
    proved: (name: Name): void => addTo(proved, name),
    /** Its look-up took too long, so it must not hold others up again. */
    slow: (name: Name): void => addTo(slow, name),
    /**
     * The requests by the name that they bear: names that were proved first, then those that most requests bear, and last
     * those whose look-up took too long.
     */
    inOrder(requests: readonly KeptRequest[]): ReadonlyMap<Name, readonly KeptRequest[]> {
      const byName = [...Map.groupBy(requests, ({ project }) => project)]
      return new Map(byName.sort(([a, ofA], [b, ofB]) => rank(a) - rank(b) || ofB.length - ofA.length))
    },
    isProved: (name: Name): boolean => proved.has(name),
  }
}

function addTo(names: Set<Name>, name: Name): void {
  if (names.has(name)) return
  const [oldest] = names
  if (names.size >= NAMES_KEPT) names.delete(oldest)
  names.add(name)
}
