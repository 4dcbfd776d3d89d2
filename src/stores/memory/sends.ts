/** What was sent, in memory: by key, by the time of the send, and by when it becomes overdue. */
import type { SendEntry } from '../../messages/record.ts'
import { popDue, pushDue, type Due } from './due-heap.ts'

/** So many removed entries cost nothing. */
const FEW = 1_000

interface Listed {
  readonly key: string
  readonly sentAtMs: number
}

interface OverdueEntry extends Due {
  readonly key: string
}

export interface Sends {
  /** A field, because every event reads it. */
  readonly byKey: ReadonlyMap<string, SendEntry>
  set(key: string, send: SendEntry | undefined): void
  overdue(nowMs: number, limit: number): { readonly keys: readonly string[]; readonly nextMs: number | undefined }
  /** Those sent in a period, by that time and then by key; `after` is one of them. */
  between(fromMs: number, toMs: number): readonly Listed[]
}

export function createSends(): Sends {
  const byKey = new Map<string, SendEntry>()
  /** What was removed stays until half of them are. */
  let bySend: Listed[] = []
  /** An entry is void unless the send is overdue at that time. */
  const overdue: OverdueEntry[] = []
  let sequence = 0

  /** How many are not after this place. */
  function placeAfter(sentAtMs: number, key: string): number {
    let [low, high] = [0, bySend.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = bySend[middle]
      const isBefore =
        other !== undefined && (other.sentAtMs < sentAtMs || (other.sentAtMs === sentAtMs && other.key <= key))
      if (isBefore) low = middle + 1
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
    byKey,
    set(key, send) {
      const before = byKey.get(key)
      if (send === undefined) {
        byKey.delete(key)
        if (bySend.length > FEW && bySend.length > 2 * byKey.size) bySend = bySend.filter(isListed)
        return
      }
      byKey.set(key, send)
      const { sentAtMs, overdueAtMs } = send
      if (before?.sentAtMs !== sentAtMs) {
        const place = placeAfter(sentAtMs, key)
        const last = bySend[place - 1]
        // One that was removed and comes again may still be listed.
        if (last?.key !== key || last.sentAtMs !== sentAtMs) bySend.splice(place, 0, { key, sentAtMs })
      }
      if (overdueAtMs !== undefined && before?.overdueAtMs !== overdueAtMs)
        pushDue(overdue, { dueMs: overdueAtMs, sequence: (sequence += 1), key })
    },
    overdue(nowMs, limit) {
      const found: OverdueEntry[] = []
      let next = firstOverdue()
      for (; next !== undefined && next.dueMs <= nowMs && found.length < limit; next = firstOverdue()) {
        popDue(overdue)
        found.push(next)
      }
      // They stay until that is decided.
      for (const each of found) pushDue(overdue, each)
      return { keys: [...new Set(found.map(({ key }) => key))], nextMs: next && Math.max(nowMs, next.dueMs) }
    },
    between: (fromMs, toMs) => bySend.slice(placeAfter(fromMs, ''), placeAfter(toMs, '')).filter(isListed),
  }
}
