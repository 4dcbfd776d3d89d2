/**
 * The time by which data is too old to keep and a message is overdue. A clock that jumps ahead must not delete what is young, nor
 * report what is not late: only a reading that has lasted an hour, by the monotonic clock of this process, is trusted.
 */
const HOUR_MS = 3_600_000
/** A smaller jump does no harm. */
const TOLERANCE_MS = 60_000

/**
 * `lastMs`: the latest time that the store remembers, or the time of another clock. Without it, the first reading is trusted.
 */
export function createTrustedTime(lastMs: number | undefined, elapsedMs: () => number) {
  /** How far the trusted time is ahead of the monotonic clock. */
  let offsetMs = lastMs === undefined ? undefined : lastMs - elapsedMs()
  /** The least offset of all readings since the jump, and when the jump was first seen. */
  let jump: { offsetMs: number; readonly sinceMs: number } | undefined

  return {
    /** Takes a reading of the clock, and returns the trusted time. */
    ofNow(nowMs: number): number {
      const readMs = elapsedMs()
      const readOffsetMs = nowMs - readMs
      offsetMs ??= readOffsetMs
      if (readOffsetMs <= offsetMs + TOLERANCE_MS) {
        offsetMs = readOffsetMs
        jump = undefined
      } else if (jump === undefined) jump = { offsetMs: readOffsetMs, sinceMs: readMs }
      else {
        jump.offsetMs = Math.min(jump.offsetMs, readOffsetMs)
        if (readMs - jump.sinceMs >= HOUR_MS) {
          offsetMs = jump.offsetMs
          jump = undefined
        }
      }
      return offsetMs + readMs
    },
  }
}
