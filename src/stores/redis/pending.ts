/**
 * An index of the pending sends of all partitions: one sorted set in the first partition. While its server is unavailable, no
 * report waits for the record of its send.
 */
import { systemClock, withDeadline } from '../../runtime/clock.ts'
import type { PendingLook, VersionedChange } from '../../inbox/record-store.ts'
import { pendingMark } from '../../messages/marks.ts'
import { MOST_PENDING_MS } from '../../messages/sends.ts'
import { ask, PENDING, type Engine } from './engine.ts'
import { membersOf } from './sets.ts'

/** In a cluster, the server of this set may be unavailable while others answer. */
const MOST_MS = 250

interface Pending {
  look(pending: PendingLook): Promise<void>
  /** Updates the index after these changes were written. */
  mark(changes: readonly VersionedChange[]): Promise<void>
}

export function createPending(engine: Engine): Pending {
  const { home } = engine.partitions

  async function inTime(work: () => Promise<void>): Promise<void> {
    const done = work().catch(() => {})
    await withDeadline(systemClock(), MOST_MS, done, () => {})
  }

  return {
    look: ({ afterMs, onAnswer }) =>
      inTime(async () => {
        const [first] = await membersOf(engine, home, ['ZRANGEBYSCORE', PENDING, `(${afterMs}`, '+inf'], 1)
        onAnswer(first?.score)
      }),
    async mark(changes) {
      const added: string[] = []
      const ended: string[] = []
      let firstMs = Infinity
      for (const { key, before, after } of changes) {
        const [was, is] = [before && pendingMark(before), after && pendingMark(after)]
        if (is !== undefined) {
          added.push(String(is), key)
          firstMs = Math.min(firstMs, is)
        } else if (was !== undefined) ended.push(key)
      }
      if (added.length + ended.length === 0) return
      await inTime(async () => {
        if (ended.length > 0) await ask(engine, home, ['ZREM', PENDING, ...ended])
        if (added.length === 0) return
        await ask(engine, home, ['ZADD', PENDING, ...added])
        // Remove entries that killed processes left: no process asks for sends this old.
        await ask(engine, home, ['ZREMRANGEBYSCORE', PENDING, '-inf', String(firstMs - MOST_PENDING_MS)])
      })
    },
  }
}
