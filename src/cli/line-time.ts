/** The time that stands before a line: that of the line itself, so that the times go the way in which the lines come. */
import type { Clock } from '../clock.ts'

/** Gives the time of day now, in UTC; never an earlier one than before, though the machine's clock be set back. */
export function createLineTime(clock: Clock): () => string {
  let latestMs = 0
  return () => {
    latestMs = Math.max(latestMs, clock.now())
    return timeOfDay(latestMs)
  }
}

/** To the millisecond, in UTC. */
export function timeOfDay(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23)
}
