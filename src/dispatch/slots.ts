/** Keeps to `concurrency`: who runs has a slot, and who must wait for one gets the next that is free, in turn. */
import type { Clock } from '../clock.ts'

export interface Slots {
  /** Slots that nobody uses or waits for; below 0 where more wait than there are. */
  readonly free: number
  /** Takes a slot; returns what gives it back, once. */
  take(): () => void
  /** Calls `begin`, which takes a slot, at once where there is one, else when there is. */
  enter(begin: () => void): void
  /** The same, but not before the I/O under way. */
  soon(begin: () => void): void
  /** Whoever still waits gets none. */
  forget(): void
}

export function createSlots(concurrency: number, clock: Clock): Slots {
  let used = 0
  let waiting: (() => void)[] = []
  let asked = false

  function beginWaiting(): void {
    asked = false
    while (used < concurrency) {
      const begin = waiting.shift()
      if (begin === undefined) return
      begin()
    }
  }

  function ask(): void {
    if (asked || waiting.length === 0) return
    asked = true
    clock.soon(beginWaiting)
  }

  function soon(begin: () => void): void {
    waiting.push(begin)
    ask()
  }

  return {
    get free() {
      return concurrency - used - waiting.length
    },
    take() {
      let isMine = true
      used += 1
      return () => {
        if (!isMine) return
        isMine = false
        used -= 1
        ask()
      }
    },
    enter(begin) {
      if (waiting.length === 0 && used < concurrency) begin()
      else soon(begin)
    },
    soon,
    forget() {
      waiting = []
    },
  }
}
