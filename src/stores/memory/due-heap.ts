/** A binary min-heap of what is due when; equal times come out in the order in which they went in. */

interface Entry<T> {
  readonly dueMs: number
  readonly sequence: number
  readonly value: T
}

interface DueHeap<T> {
  push(dueMs: number, value: T): void
  /** The earliest entry, left where it is. */
  peek(): { readonly dueMs: number; readonly value: T } | undefined
  pop(): void
}

export function createDueHeap<T>(): DueHeap<T> {
  const entries: Entry<T>[] = []
  let sequence = 0

  function isBefore(a: Entry<T>, b: Entry<T>): boolean {
    return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence)
  }

  /** Moves `entry` from the hole at `index` towards the root until its parent is earlier. */
  function rise(entry: Entry<T>, index: number): void {
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = entries[parentIndex]
      if (parent === undefined || !isBefore(entry, parent)) break
      entries[index] = parent
      index = parentIndex
    }
    entries[index] = entry
  }

  /** Moves `entry` from the hole at the root towards the leaves until both children are later. */
  function sink(entry: Entry<T>): void {
    let index = 0
    for (;;) {
      let childIndex = 2 * index + 1
      let child = entries[childIndex]
      if (child === undefined) break
      const right = entries[childIndex + 1]
      if (right !== undefined && isBefore(right, child)) {
        childIndex += 1
        child = right
      }
      if (!isBefore(child, entry)) break
      entries[index] = child
      index = childIndex
    }
    entries[index] = entry
  }

  return {
    push(dueMs, value) {
      const entry = { dueMs, sequence: (sequence += 1), value }
      entries.push(entry)
      rise(entry, entries.length - 1)
    },
    peek: () => entries[0],
    pop() {
      const last = entries.pop()
      if (last !== undefined && entries.length > 0) sink(last)
    },
  }
}
