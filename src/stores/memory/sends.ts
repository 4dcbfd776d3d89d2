/** Recorded sends in memory: by key, by time of sending, and by deadline. */
import type { SendEntry } from '../../messages/record.ts'
import { popDue, pushDue, type Due } from './due-heap.ts'

/** Lists below this length are not cleaned up. */
const FEW = 1_000

type Listed = Readonly<{ key: string; sentAtMs: number }>

/** Compares sends by time, then by key. */
export function bySend(one: Listed, other: Listed): number {
  return one.sentAtMs - other.sentAtMs || (one.key < other.key ? -1 : Number(one.key > other.key))
}

interface OverdueEntry extends Due {
  readonly key: string
}

export function createSends() {
  const byKey = new Map<string, SendEntry>()
  const known: ReadonlyMap<string, SendEntry> = byKey
  /** Removed entries stay until they are half of the list. */
  let listed: Listed[] = []
  /** An entry is void unless the send still has that deadline. */
  const overdue: OverdueEntry[] = []
  let sequence = 0

  /** The number of entries not after this one. */
  function placeAfter(one: Listed): number {
    let [low, high] = [0, listed.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = listed[middle]
      if (other !== undefined && bySend(other, one) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }

  function isListed({ key, sentAtMs }: Listed): boolean {
    return byKey.get(key)?.sentAtMs === sentAtMs
  }

  function firstOverdue(): OverdueEntry | undefined {
    for (let [first] = overdue; first !== undefined; [first] = overdue) {
      if (byKey.get(first.key)?.overdueAtMs === first.dueMs) return first
      popDue(overdue)
    }
    return undefined
  }

  return {
    /** Not a function, because every event reads it. */
    byKey: known,
    set(key: string, send: SendEntry | undefined): void {
      const before = byKey.get(key)
      if (send === undefined) {
        byKey.delete(key)
        if (listed.length > FEW && listed.length > 2 * byKey.size) listed = listed.filter(isListed)
        return
      }
      byKey.set(key, send)
      const { sentAtMs, overdueAtMs } = send
      if (before?.sentAtMs !== sentAtMs) {
        const one = { key, sentAtMs }
        const place = placeAfter(one)
        const last = listed[place - 1]
        // A removed send that is recorded again may still be listed.
        if (last === undefined || bySend(last, one) !== 0) listed.splice(place, 0, one)
      }
      if (overdueAtMs !== undefined && before?.overdueAtMs !== overdueAtMs)
        pushDue(overdue, { dueMs: overdueAtMs, sequence: (sequence += 1), key })
    },
    overdue(nowMs: number, limit: number) {
      const found: OverdueEntry[] = []
      let next = firstOverdue()
      for (; next !== undefined && next.dueMs <= nowMs && found.length < limit; next = firstOverdue()) {
        popDue(overdue)
        found.push(next)
      }
      // Overdue sends stay in the heap until they are decided.
      for (const each of found) pushDue(overdue, each)
      return { keys: [...new Set(found.map(({ key }) => key))], nextMs: next && Math.max(nowMs, next.dueMs) }
    },
    /** The sends of a period, in the order of `bySend`. */
    between: (fromMs: number, toMs: number): readonly Listed[] =>
      listed.slice(placeAfter({ sentAtMs: fromMs, key: '' }), placeAfter({ sentAtMs: toMs, key: '' })).filter(isListed),
  }
}
