/**
 * Automatically verifies requests again that arrived while credentials could not be looked up: after a pause that doubles, and
 * as soon as a look-up succeeds. Sets no timer while none wait, and no timer keeps the process alive.
 */
import type { Clock } from '../runtime/clock.ts'
import type { KeptRequest } from './request.ts'

type Name = string | undefined

interface RecheckOptions {
  readonly clock: Clock
  readonly names: ReturnType<typeof createNames>
  readonly count: () => number
  /** The names of the waiting requests, and how many there are of each. */
  readonly waiting: () => Promise<ReadonlyMap<Name, number>>
  /**
   * Verifies the waiting requests of these names. Resolves to their number and the names whose look-up failed again. Rejects if
   * the store fails.
   */
  readonly run: (
    picked: ReadonlySet<Name>,
  ) => Promise<{ readonly examined: number; readonly failedNames: ReadonlySet<Name> }>
  readonly failed: (error: unknown) => void
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/**
 * Senders choose the names, so a run looks up only a few. Proved names, and those of most requests, are in every run, so
 * failing names cannot delay a real one. The others take turns.
 */
export const MAX_NAMES = 64
const MAX_RANKED = 48
const NAMES_KEPT = 256

export function createRecheck({ clock, names, count, waiting, run, failed }: RecheckOptions) {
  let pauseMs = FIRST_PAUSE_MS
  let endedMs = -Infinity
  let running = false
  let stopped = false
  let cancelTimer: (() => void) | undefined
  /** Names in order of their turn. A name whose look-up failed moves to the end. */
  const queue = new Set<Name>()

  function schedule(): void {
    if (stopped || running || cancelTimer !== undefined) return
    cancelTimer = clock.setTimer(() => void recheck(), pauseMs)
  }

  async function recheck(): Promise<void> {
    cancelTimer?.()
    cancelTimer = undefined
    running = true
    let hasFailed = false
    while (!hasFailed && !stopped && count() > 0) hasFailed = !(await recheckNames())
    running = false
    endedMs = clock.now()
    pauseMs = hasFailed ? Math.min(2 * pauseMs, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS
    if (hasFailed) schedule()
  }

  /** True if all look-ups succeeded. */
  async function recheckNames(): Promise<boolean> {
    try {
      const { examined, failedNames } = await run(nextNames(await waiting()))
      for (const name of failedNames) {
        queue.delete(name)
        queue.add(name)
      }
      // Without any, the file cannot be read now.
      return failedNames.size === 0 && examined > 0
    } catch (error) {
      failed(error)
      return false
    }
  }

  function nextNames(counts: ReadonlyMap<Name, number>): ReadonlySet<Name> {
    for (const name of queue) if (!counts.has(name)) queue.delete(name)
    for (const name of counts.keys()) queue.add(name)
    const ranked = names.ordered(counts).slice(0, MAX_RANKED)
    const others = [...queue].filter((name) => !ranked.includes(name))
    return new Set([...ranked, ...others.slice(0, MAX_NAMES - ranked.length)])
  }

  return {
    schedule,
    /** Called after a look-up of this name succeeded. Remembers names that proved a callback. */
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

/** Order of look-ups when requests are verified again. Senders choose most of the names. */
export function createNames() {
  const proved = new Set<Name>()
  const slow = new Set<Name>()

  function rank(name: Name): number {
    if (proved.has(name)) return 0
    return slow.has(name) ? 2 : 1
  }

  return {
    /** Marks a name as genuine, because a callback of this project was proved. */
    proved: (name: Name): void => addTo(proved, name),
    /** Moves a name behind the others, because its look-up timed out. */
    slow: (name: Name): void => addTo(slow, name),
    /** Proved names first, then by number of requests, and last those whose look-up timed out. */
    ordered: (counts: ReadonlyMap<Name, number>): readonly Name[] =>
      [...counts].sort(([a, ofA], [b, ofB]) => rank(a) - rank(b) || ofB - ofA).map(([name]) => name),
    /** Groups requests by name: proved names first, then by number of requests, and last those whose look-up timed out. */
    inOrder(requests: readonly KeptRequest[]): ReadonlyMap<Name, readonly KeptRequest[]> {
      const byName = [...Map.groupBy(requests, ({ project }) => project)]
      return new Map(byName.sort(([a, ofA], [b, ofB]) => rank(a) - rank(b) || ofB.length - ofA.length))
    },
  }
}

function addTo(names: Set<Name>, name: Name): void {
  if (names.has(name)) return
  const [oldest] = names
  if (names.size >= NAMES_KEPT) names.delete(oldest)
  names.add(name)
}
