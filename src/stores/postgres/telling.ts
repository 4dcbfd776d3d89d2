/** Tells the other processes of what was admitted here, unless this one has taken it by then. */
import type { Clock } from '../../runtime/clock.ts'

export interface Telling {
  /** Tells them, soon and once however often it is called meanwhile. */
  tell(): void
  /** The same where this process claims too: it mostly takes at once what it admits, and then there is nothing to tell. */
  tellOfWhatIsLeft(): void
  /** A claim begins here. Whoever made it calls what this returns once it has found that nothing more is due. */
  claiming(): () => void
  /** Tells at once of what is still left, for nobody here takes it any more. */
  stop(): Promise<void>
}

/** How long this process has for taking what it has admitted before the others hear of it. */
const OWN_TIME_MS = 10

/** `notify` never rejects. */
export function createTelling(clock: Clock, notify: () => Promise<unknown>): Telling {
  let isTelling = false
  /** Batches that the others have not been told of. */
  let untold = 0
  /** Batches that were left to whoever comes first, ever; and how many of them a claim here has emptied or were told. */
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
      // What came in meanwhile has a time of its own.
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
