/**
 * Virtual time, and the only one who says what runs next: timers, what was put off to `soon`, answers of the network and
 * of the disk, handlers that end. Between two steps all promises come to rest.
 */
import type { Clock } from '../../src/runtime/clock.ts'
import { between, type Random } from './random.ts'

/** Whose work it is: that of a process that was killed is never done, that of a stopped one waits. */
export interface Owner {
  readonly name: string
  alive: boolean
  stoppedUntilMs: number
}

interface Entry {
  readonly atMs: number
  /** Of entries for the same time: in their order before somebody was stopped, then as they were entered. */
  readonly firstMs: number
  readonly number: number
  readonly owner: Owner
  readonly label: string
  readonly work: () => void | Promise<void>
  cancelled: boolean
}

export interface Timeline {
  /** The true time since the beginning, which no process sees. */
  readonly nowMs: number
  readonly steps: number
  /** What happened so far, as one number: equal for equal interleavings. */
  readonly hash: string
  /** Does `work` in `delayMs`; returns what cancels it. */
  after(delayMs: number, owner: Owner, label: string, work: () => void | Promise<void>): () => void
  /** Whoever was stopped goes on now, and not when it was to. */
  resume(owner: Owner): void
  /** Something worth comparing in two runs. */
  note(text: string): void
  /** Does what is next; false where nothing is left. */
  step(): Promise<boolean>
}

/** A process's own clock over it. Timers fire a little late, as they do. */
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
      // One that is stopped is entered anew; whoever cancels it cancels what it does.
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
