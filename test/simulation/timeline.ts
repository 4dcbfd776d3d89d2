/**
 * Virtual time, which alone decides what runs next: timers, work deferred to `soon`, answers of the network and
 * of the disk, handlers that end. All promises settle between two steps.
 */
import type { Clock } from '../../src/runtime/clock.ts'
import { between, type Random } from './random.ts'

/** The owner of work: work of a killed process is discarded, work of a stopped process waits. */
export interface Owner {
  readonly name: string
  alive: boolean
  stoppedUntilMs: number
}

interface Entry {
  readonly atMs: number
  /** Breaks ties at the same time: by the order before a process was stopped, then by the order of entry. */
  readonly firstMs: number
  readonly number: number
  readonly owner: Owner
  readonly label: string
  readonly work: () => void | Promise<void>
  cancelled: boolean
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

  function push(entry: Entry): void {
    let at = heap.push(entry) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !isBefore(entry, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = entry
  }

  function pop(): Entry | undefined {
    const [first] = heap
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      const leftChild = heap[left]
      const rightChild = heap[left + 1]
      if (leftChild === undefined) break
      const [child, childAt] =
        rightChild !== undefined && isBefore(rightChild, leftChild) ? [rightChild, left + 1] : [leftChild, left]
      if (!isBefore(child, last)) break
      heap[at] = child
      at = childAt
    }
    heap[at] = last
    return first
  }

  function next(): Entry | undefined {
    for (let entry = pop(); entry !== undefined; entry = pop()) {
      if (entry.cancelled || !entry.owner.alive) continue
      if (entry.owner.stoppedUntilMs <= Math.max(nowMs, entry.atMs)) return entry
      push({ ...entry, atMs: entry.owner.stoppedUntilMs })
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
      const atMs = nowMs + delayMs
      let entry: Entry = { atMs, firstMs: atMs, number: (entered += 1), owner, label, work, cancelled: false }
      // Work of a stopped owner is entered again; its cancel function also cancels the new entry.
      let cancelled = false
      entry = { ...entry, work: () => (cancelled ? undefined : work()) }
      push(entry)
      return () => {
        cancelled = true
        entry.cancelled = true
      }
    },
    resume(owner) {
      owner.stoppedUntilMs = 0
      for (const entry of heap.splice(0))
        push(entry.owner === owner ? { ...entry, atMs: Math.max(nowMs, entry.firstMs) } : entry)
    },
    note,
    async step() {
      const entry = next()
      if (entry === undefined) return false
      nowMs = Math.max(nowMs, entry.atMs)
      steps += 1
      note(`${entry.owner.name} ${entry.label} ${nowMs.toFixed(3)}`)
      await entry.work()
      await new Promise((resolve) => setImmediate(resolve))
      return true
    },
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs
  return a.firstMs !== b.firstMs ? a.firstMs < b.firstMs : a.number < b.number
}
