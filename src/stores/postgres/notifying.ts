/** Notifies other processes of events admitted here, unless this process has claimed them by then. */
import type { Clock } from '../../runtime/clock.ts'

export interface Notifier {
  /** Notifies the other processes soon, and once for several calls. */
  notify(): void
  /** Like `notify`, for a process that claims too: notifies only of events that it has not claimed after `OWN_TIME_MS`. */
  notifyOfRemaining(): void
  /** Called when a claim begins. The caller must call the returned function once nothing more is due. */
  claiming(): () => void
  /** Notifies at once of unclaimed events, because this process claims nothing more. */
  stop(): Promise<void>
}

/** How long this process has to claim the events that it admitted before the others are notified. */
const OWN_TIME_MS = 10

/** `send` never rejects. */
export function createNotifier(clock: Clock, send: () => Promise<unknown>): Notifier {
  let isSending = false
  /** Number of batches not announced yet. */
  let unannounced = 0
  /** Total number of batches, and of the batches that were announced or that a claim here emptied. */
  let left = 0
  let seenTo = 0
  let isWaiting = false
  let cancel = (): void => {}

  async function sendNow(): Promise<void> {
    isSending = true
    while (unannounced > 0) {
      unannounced = 0
      await send()
    }
    isSending = false
  }

  function notify(): void {
    unannounced += 1
    if (!isSending) void sendNow()
  }

  function notifyLater(): void {
    isWaiting = true
    const due = left
    cancel = clock.setTimer(() => {
      isWaiting = false
      if (seenTo < due) {
        seenTo = left
        notify()
      }
      // Batches that arrived meanwhile have their own delay.
      if (seenTo < left) notifyLater()
    }, OWN_TIME_MS)
  }

  return {
    notify,
    notifyOfRemaining() {
      left += 1
      if (!isWaiting) notifyLater()
    },
    claiming() {
      const before = left
      return () => {
        seenTo = Math.max(seenTo, before)
      }
    },
    async stop() {
      cancel()
      if (seenTo < left) await send()
    },
  }
}
