/** Notifies other processes of events admitted here, unless this process has claimed them by then. */
import type { Clock } from '../../runtime/clock.ts'

export interface Notifier {
  /** Notifies them soon, and once for several calls. */
  notify(): void
  /** The same if this process claims too: it usually claims what it admits at once, and then nothing needs to be announced. */
  notifyOfRemaining(): void
  /** A claim begins here. The caller must call the returned function once nothing more is due. */
  claiming(): () => void
  /** Announces at once what is left, because this process claims nothing more. */
  stop(): Promise<void>
}

/** How long this process has to claim what it admitted before the others are notified. */
const OWN_TIME_MS = 10

/** `send` never rejects. */
export function createNotifier(clock: Clock, send: () => Promise<unknown>): Notifier {
  let isSending = false
  /** Batches that were not announced yet. */
  let unannounced = 0
  /** Total number of batches, and of those that a claim here emptied or that were announced. */
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
