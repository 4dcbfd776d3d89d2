/** How much may be written: so many bytes a second, and no more than a second's worth at once. */
import type { Clock } from '../../../clock.ts'

interface Budget {
  /** How long until more may be written; 0 for now. */
  waitMs(): number
  spend(bytes: number): void
}

export function createBudget(clock: Clock, bytesASecond: number): Budget {
  let left = bytesASecond
  let countedMs = clock.now()
  return {
    waitMs() {
      const nowMs = clock.now()
      // A clock that was set back earns nothing, and is counted from where it stands now.
      left = Math.min(bytesASecond, left + (Math.max(0, nowMs - countedMs) / 1_000) * bytesASecond)
      countedMs = nowMs
      return left > 0 ? 0 : Math.ceil(((1 - left) / bytesASecond) * 1_000)
    },
    // What is larger than all that is left is written once anything is: it is owed.
    spend: (bytes) => void (left -= bytes),
  }
}
