/** Notifies other processes of events admitted here, unless this process has claimed them by then. */
import type { Clock } from '../../runtime/clock.ts'

export interface Telling {
  /** Notifies them soon, and once for several calls. */
  tell(): void
  /** The same if this process claims too: it usually claims what it admits at once, and then nothing needs to be announced. */
  tellOfWhatIsLeft(): void
  /** A claim begins here. The caller must call the returned function once nothing more is due. */
  claiming(): () => void
  /** Announces at once what is left, because this process claims nothing more. */
  stop(): Promise<void>
}

/** How long this process has to claim what it admitted before the others are notified. */
const OWN_TIME_MS = 10

/** `notify` never rejects. */
export function createTelling(clock: Clock, notify: () => Promise<unknown>): Telling {
  let isTelling = false
  /** Batches that were not announced yet. */
  let untold = 0
  /** Total number of batches, and of those that a claim here emptied or that were announced. */
  let left = 0
  let seenTo = 0
  let isWaiting = false
  let cancel = (): void => {}

  async function tellOthers(): Promise<void> {
    isTelling = true
    while (untold > 0) {
      untold = 0
      await notify()
    }
    isTelling = false
  }

  function tell(): void {
    untold += 1
    if (!isTelling) void tellOthers()
  }

  function tellLater(): void {
    isWaiting = true
    const due = left
    cancel = clock.setTimer(() => {
      isWaiting = false
      if (seenTo < due) {
        seenTo = left
        tell()
      }
      // Batches that arrived meanwhile have their own delay.
      if (seenTo < left) tellLater()
    }, OWN_TIME_MS)
  }

  return {
    tell,
    tellOfWhatIsLeft() {
      left += 1
      if (!isWaiting) tellLater()
    },
    claiming() {
      const before = left
      return () => {
        seenTo = Math.max(seenTo, before)
      }
    },
    async stop() {
      cancel()
      if (seenTo < left) await notify()
    },
  }
}
