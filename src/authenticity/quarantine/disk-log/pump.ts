/** Does what is to be done, a step after another, and tries again after a pause where one fails. */
import type { Clock } from '../../../clock.ts'

interface PumpOptions {
  readonly clock: Clock
  /** What must be over before the first step; undefined while that has not begun. */
  readonly ready: () => Promise<void> | undefined
  /** False where nothing is left to do; a number where nothing can be done for so many milliseconds. */
  readonly step: () => Promise<boolean | number>
  readonly failed: (error: unknown) => void
}

interface Pump {
  /** There is something to do. */
  wake(): void
  /** A step got through, so the next failure is a new one. */
  succeeded(): void
  /** Does what there is to do now, and nothing after that. */
  finish(): Promise<void>
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

export function createPump({ clock, ready, step, failed }: PumpOptions): Pump {
  let running: Promise<void> | undefined
  let cancelTimer: (() => void) | undefined
  let pauseMs = FIRST_PAUSE_MS
  let isWoken = false
  let isFinishing = false

  function wake(): void {
    isWoken = true
    if (running !== undefined || cancelTimer !== undefined || isFinishing) return
    running = ready()
      ?.then(run)
      .finally(() => {
        running = undefined
        if (isWoken) wake()
      })
  }

  function wakeIn(ms: number): void {
    if (isFinishing) return
    cancelTimer = clock.setTimer(() => {
      cancelTimer = undefined
      wake()
    }, ms)
  }

  async function run(): Promise<void> {
    isWoken = false
    try {
      for (;;) {
        const more = await step()
        if (typeof more === 'number') wakeIn(more)
        if (more !== true) return
      }
    } catch (error) {
      failed(error)
      wakeIn(pauseMs)
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    }
  }

  return {
    wake,
    succeeded: () => void (pauseMs = FIRST_PAUSE_MS),
    async finish() {
      isFinishing = true
      cancelTimer?.()
      await ready()
      await running
      await run()
    },
  }
}
