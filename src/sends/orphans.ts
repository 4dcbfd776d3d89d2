/**
 * How long a report waits for the record of its own send: the configured time, or a default while a send of this process is
 * pending.
 */

const USUAL_HOLD_MS = 5_000

export function createOrphanWatch(orphanHoldMs: number | undefined) {
  const isConfigured = orphanHoldMs !== undefined
  /** How long a report waits that arrives before `untilMs`. */
  const orphans = { holdMs: orphanHoldMs ?? USUAL_HOLD_MS, untilMs: isConfigured ? Infinity : -Infinity }
  let underWay = 0
  return {
    orphans,
    /** Announces a pending send with the deadline of its answer. Call the returned function after the answer, at least once. */
    awaitAnswer(answerByMs: number): () => void {
      let hasEnded = false
      underWay += 1
      orphans.untilMs = Math.max(orphans.untilMs, answerByMs)
      return () => {
        if (hasEnded) return
        hasEnded = true
        underWay -= 1
        if (!isConfigured && underWay === 0) orphans.untilMs = -Infinity
      }
    },
  }
}
