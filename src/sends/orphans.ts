/**
 * How long a report waits for the word of its own send, which it may overtake: as long as was said, or, where nothing was said, a
 * while as long as a send of this process awaits its answer. A receiver of which nobody sends lets no report wait.
 */

/** Where nothing was said. Milliseconds. */
const USUAL_HOLD_MS = 5_000

interface Orphans {
  /** So long a report waits that arrives before `untilMs`. */
  readonly holdMs: number
  readonly untilMs: number
}

interface OrphanWatch {
  readonly orphans: Orphans
  /** A send was begun that has to have an answer by then; what it returns ends that, and may be called twice. */
  readonly begun: (answerByMs: number) => () => void
}

export function createOrphanWatch(orphanHoldMs: number | undefined): OrphanWatch {
  const isSaid = orphanHoldMs !== undefined
  const orphans = { holdMs: orphanHoldMs ?? USUAL_HOLD_MS, untilMs: isSaid ? Infinity : -Infinity }
  let underWay = 0
  return {
    orphans,
    begun(answerByMs) {
      let hasEnded = false
      underWay += 1
      orphans.untilMs = Math.max(orphans.untilMs, answerByMs)
      return () => {
        if (hasEnded) return
        hasEnded = true
        underWay -= 1
        if (!isSaid && underWay === 0) orphans.untilMs = -Infinity
      }
    },
  }
}
