/** When the store is asked for work: soon after a wake-up or when something comes due, and never twice at once. */
import type { Clock } from '../clock.ts'

/** How long to leave a store alone that threw. */
const STORE_PAUSE_MS = 1_000
/** How long a look that will likely find nothing is put off, so that many attempts share it. */
const SHARE_MS = 5

interface ClaimLoopOptions {
  readonly clock: Clock
  /** Says when something will be due next, where it is known. */
  readonly claim: () => Promise<number | undefined>
  readonly failed: (error: unknown) => void
  /** For now there is nothing more to claim. */
  readonly rested: () => void
}

export interface ClaimLoop {
  readonly claiming: boolean
  /** Something may be due. */
  wake(): void
  /** Something may be due, but likely is not. A claim that begins before does for it. */
  wakeLater(): void
  /** Nothing is put off any longer, until what it returns is called. */
  hurry(): () => void
  readonly isHurried: boolean
  /** Something may be due then. */
  wakeBy(dueMs: number): void
  stop(): void
}

export function createClaimLoop({ clock, claim, failed, rested }: ClaimLoopOptions): ClaimLoop {
  let asked = false
  let claiming = false
  let stopped = false
  let timerMs = Infinity
  /** Of `wakeBy`: a claim that began before knows nothing of it. */
  let toldMs = Infinity
  let cancelTimer = (): void => {}
  let cancelLater: (() => void) | undefined
  let hurried = 0

  function wake(): void {
    if (asked || stopped) return
    asked = true
    if (!claiming) clock.soon(() => void claimWhileAsked())
  }

  /** Something will be due then, and nothing before but what was told. */
  function wakeAt(dueMs: number): void {
    cancelTimer()
    timerMs = Math.min(dueMs, toldMs)
    cancelTimer = clock.setTimer(() => {
      if (timerMs >= toldMs) toldMs = Infinity
      timerMs = Infinity
      wake()
    }, timerMs - clock.now())
  }

  function notLater(): void {
    cancelLater?.()
    cancelLater = undefined
  }

  /** Claims again as long as somebody asks for it meanwhile. */
  async function claimWhileAsked(): Promise<void> {
    claiming = true
    try {
      while (asked) {
        asked = false
        notLater()
        const nextDueMs = await claim()
        if (nextDueMs !== undefined) wakeAt(nextDueMs)
      }
    } catch (error) {
      failed(error)
      asked = false
      wakeAt(clock.now() + STORE_PAUSE_MS)
    } finally {
      claiming = false
      rested()
    }
  }

  return {
    get claiming() {
      return claiming
    },
    wake,
    wakeLater() {
      if (hurried > 0) {
        wake()
        return
      }
      if (asked || stopped || cancelLater !== undefined) return
      function wakeNow(): void {
        cancelLater = undefined
        wake()
      }
      // A process that ends meanwhile would leave what comes next of a message undone.
      cancelLater = clock.setTimer(wakeNow, SHARE_MS, true)
    },
    hurry() {
      hurried += 1
      if (cancelLater !== undefined) wake()
      return () => {
        hurried -= 1
      }
    },
    get isHurried() {
      return hurried > 0
    },
    wakeBy(dueMs) {
      toldMs = Math.min(toldMs, dueMs)
      if (dueMs < timerMs) wakeAt(dueMs)
    },
    stop() {
      stopped = true
      cancelTimer()
      notLater()
    },
  }
}
