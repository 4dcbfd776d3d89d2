/**
 * Verifies again, by itself, what came while credentials could not be looked up: after a pause that doubles, and as soon
 * as a look-up succeeds. No timer runs while nothing waits, and none keeps the process alive.
 */
import type { Clock } from '../../clock.ts'
import type { KeptRequest } from './request.ts'

interface RecheckOptions {
  readonly clock: Clock
  /** How many wait, and which. */
  readonly count: () => number
  readonly waiting: () => readonly KeptRequest[]
  /** Verifies what is picked and returns the names whose look-up failed again. Rejects where the store is not there. */
  readonly run: (pick: () => readonly KeptRequest[]) => Promise<ReadonlySet<string | undefined>>
  readonly failed: (error: unknown) => void
}

interface Recheck {
  /** Something waits: sets the timer, unless it is set. */
  schedule(): void
  /** A look-up succeeded. */
  lookedUp(): void
  stop(): void
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** Strangers choose the names, so a run asks for a few; those that have waited longest without being asked for. */
const MOST_NAMES = 64

export function createRecheck({ clock, count, waiting, run, failed }: RecheckOptions): Recheck {
  let pauseMs = FIRST_PAUSE_MS
  let endedMs = -Infinity
  let running = false
  let stopped = false
  let cancelTimer: (() => void) | undefined
  const failedNames = new Set<string | undefined>()

  function schedule(): void {
    if (stopped || running || cancelTimer !== undefined) return
    cancelTimer = clock.setTimer(() => void recheck(), pauseMs)
  }

  async function recheck(): Promise<void> {
    cancelTimer?.()
    cancelTimer = undefined
    running = true
    const isOver = await recheckNames()
    running = false
    endedMs = clock.now()
    if (isOver) {
      pauseMs = FIRST_PAUSE_MS
      failedNames.clear()
    } else {
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      schedule()
    }
  }

  /** True when nothing waits any more; false after a run in which something failed. */
  async function recheckNames(): Promise<boolean> {
    while (count() > 0) {
      if (stopped) return false
      const names = nextNames()
      try {
        const failedNow = await run(() => waiting().filter(({ project }) => names.has(project)))
        for (const name of failedNow) failedNames.add(name)
        if (failedNow.size > 0) return false
      } catch (error) {
        failed(error)
        return false
      }
    }
    return true
  }

  function nextNames(): ReadonlySet<string | undefined> {
    const names = [...new Set(waiting().map(({ project }) => project))]
    const unasked = names.filter((name) => !failedNames.has(name))
    if (unasked.length === 0) failedNames.clear()
    return new Set((unasked.length === 0 ? names : unasked).slice(0, MOST_NAMES))
  }

  return {
    schedule,
    lookedUp() {
      if (running || stopped || count() === 0 || Math.abs(clock.now() - endedMs) < FIRST_PAUSE_MS) return
      void recheck()
    },
    stop() {
      stopped = true
      cancelTimer?.()
    },
  }
}
