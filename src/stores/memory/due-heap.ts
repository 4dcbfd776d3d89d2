/**
 * A binary min-heap by due time in a plain array: `due[0]` is the earliest, and equal times are ordered by sequence. A sorted
 * array takes twice the CPU with 10,000 entries and 24 times with 100,000 (`node bench/micro/due.ts`).
 */

export interface Due {
  readonly dueMs: number
  readonly sequence: number
}

export function pushDue<T extends Due>(due: T[], entry: T): void {
  let index = due.length
  due.push(entry)
  while (index > 0) {
    const parentIndex = (index - 1) >> 1
    const parent = due[parentIndex]
    if (parent === undefined || !isBefore(entry, parent)) break
    due[index] = parent
    index = parentIndex
  }
  due[index] = entry
}

/** Removes the earliest entry: the last one sinks from the root until both its children are later. */
export function popDue(due: Due[]): void {
  const last = due.pop()
  if (last === undefined || due.length === 0) return
  let index = 0
  for (;;) {
    let childIndex = 2 * index + 1
    let child = due[childIndex]
    if (child === undefined) break
    const right = due[childIndex + 1]
    if (right !== undefined && isBefore(right, child)) {
      childIndex += 1
      child = right
    }
    if (!isBefore(child, last)) break
    due[index] = child
    index = childIndex
  }
  due[index] = last
}

function isBefore(a: Due, b: Due): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence)
}
