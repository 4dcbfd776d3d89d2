/**
 * Virtual time, which alone decides what runs next: timers, work deferred to `soon`, answers of the network and
 * of the disk, handlers that end. All promises settle between two steps.
 */
import type { Clock } from '../../src/runtime/clock.ts'
import { popDue, pushDue } from '../../src/stores/memory/due-heap.ts'
import { between, type Random } from './random.ts'

/** The owner of work: work of a killed process is discarded, work of a stopped process waits. */
export interface Owner {
  readonly name: string
  alive: boolean
  stoppedUntilMs: number
}

interface Entry {
  dueMs: number
  /** Entered again with a new number, so that work of a stopped owner keeps its order. */
  sequence: number
  /** When it would have run if its owner had not been stopped. */
  readonly plannedMs: number
  readonly owner: Owner
  readonly label: string
  readonly work: () => void | Promise<void>
  isCancelled: boolean
}

export interface Timeline {
  /** The true time since the beginning; no process sees it. */
  readonly nowMs: number
  readonly steps: number
  /** A hash of everything so far: equal for equal interleavings. */
  readonly hash: string
  /** Runs `work` in `delayMs`; returns a function that cancels it. */
  after(delayMs: number, owner: Owner, label: string, work: () => void | Promise<void>): () => void
  /** Resumes a stopped owner now instead of at its planned time. */
  resume(owner: Owner): void
  /** Adds text to the hash, to compare two runs. */
  note(text: string): void
  /** Runs the next entry; returns false if none is left. */
  step(): Promise<boolean>
}

/** A process's own clock on top of the timeline. Timers fire slightly late, as real ones do. */
export function clockOf(timeline: Timeline, owner: Owner, wallMs: () => number, random: Random): Clock {
  return {
    now: () => Math.floor(wallMs()),
    setTimer: (callback, delayMs) =>
      timeline.after(Math.max(0, delayMs) + between(random, 0, 2), owner, 'timer', callback),
    soon: (callback) => void timeline.after(0, owner, 'soon', callback),
  }
}

export function createTimeline(log: (line: string) => void = () => {}): Timeline {
  const heap: Entry[] = []
  let nowMs = 0
  let entered = 0
  let steps = 0
  let low = 0x811c9dc5
  let high = 0x9e3779b1

  function note(text: string): void {
    log(`${nowMs.toFixed(3)} ${text}`)
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      low = Math.imul(low ^ code, 0x01000193)
      high = Math.imul(high ^ (code + at), 0x85ebca6b)
    }
  }

  function next(): Entry | undefined {
    for (let [entry] = heap; entry !== undefined; [entry] = heap) {
      popDue(heap)
      if (entry.isCancelled || !entry.owner.alive) continue
      if (entry.owner.stoppedUntilMs <= Math.max(nowMs, entry.dueMs)) return entry
      entry.dueMs = entry.owner.stoppedUntilMs
      entry.sequence = entered += 1
      pushDue(heap, entry)
    }
    return undefined
  }

  return {
    get nowMs() {
      return nowMs
    },
    get steps() {
      return steps
    },
    get hash() {
      return `${(low >>> 0).toString(16)}-${(high >>> 0).toString(16)}`
    },
    after(delayMs, owner, label, work) {
      const dueMs = nowMs + delayMs
      const sequence = (entered += 1)
      const entry: Entry = { dueMs, plannedMs: dueMs, sequence, owner, label, work, isCancelled: false }
      pushDue(heap, entry)
      return () => void (entry.isCancelled = true)
    },
    resume(owner) {
      owner.stoppedUntilMs = 0
      for (const entry of heap.splice(0)) {
        if (entry.owner === owner) entry.dueMs = Math.max(nowMs, entry.plannedMs)
        pushDue(heap, entry)
      }
    },
    note,
    async step() {
      const entry = next()
      if (entry === undefined) return false
      nowMs = Math.max(nowMs, entry.dueMs)
      steps += 1
      note(`${entry.owner.name} ${entry.label} ${nowMs.toFixed(3)}`)
      await entry.work()
      await new Promise((resolve) => setImmediate(resolve))
      return true
    },
  }
}
