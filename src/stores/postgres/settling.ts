/** What becomes of events after an attempt, and dead letters that are to be tried again. */
import type { Resolution, Settlement } from '../../inbox/store.ts'
import { hexOf } from './encoding.ts'
import type { Engine } from './engine.ts'
import { integer, text, type Row } from './row.ts'
import { fill } from './sql-text.ts'
import { LOCK_DEAD } from './statements/lock-dead.ts'
import { LOCK_MESSAGES } from './statements/lock-messages.ts'
import { RESOLVE } from './statements/resolve.ts'
import { SETTLE } from './statements/settle.ts'

const STATES = { retry: 0, done: 1, dead: 2 } as const

interface Settling {
  settle(settlements: readonly Settlement[], nowMs: number): Promise<readonly boolean[]>
  /** The same within a transaction that somebody else began and will end. */
  settleIn(
    batch: (sql: string) => Promise<readonly (readonly Row[])[]>,
    settlement: Settlement,
    nowMs: number,
  ): Promise<boolean>
  resolve(id: string, resolution: Resolution, nowMs: number): Promise<boolean>
}

export function createSettling(engine: Engine): Settling {
  const lockAndSettle = engine.sql(LOCK_MESSAGES + SETTLE)
  const lockAndResolve = engine.sql(LOCK_DEAD + RESOLVE)

  function filled(settlements: readonly Settlement[], nowMs: number): string {
    return fill(lockAndSettle, {
      now: engine.now(nowMs),
      keys: settlements.map(({ messageKey }) => messageKey),
      ids: settlements.map(({ id }) => id),
      tokens: settlements.map(({ token }) => token),
      states: settlements.map(({ outcome }) => STATES[outcome]),
      aheads: settlements.map((given) => (given.outcome === 'retry' ? given.dueMs - nowMs : 0)),
      errors: settlements.map((given) => (given.outcome === 'done' ? '' : hexOf(given.error))),
    })
  }

  /** Says it of the first where the same comes twice. */
  function answers(settlements: readonly Settlement[], rows: readonly Row[]): readonly boolean[] {
    const settled = new Set(rows.map((row) => `${text(row, 'id')} ${integer(row, 'token')}`))
    return settlements.map(({ id, token }) => settled.delete(`${id} ${token}`))
  }

  return {
    async settle(settlements, nowMs) {
      if (settlements.length === 0) return []
      const [, rows = []] = await engine.together(filled(settlements, nowMs))
      return answers(settlements, rows)
    },
    async settleIn(batch, settlement, nowMs) {
      const [, , rows = []] = await batch(engine.limits + filled([settlement], nowMs))
      return answers([settlement], rows)[0] === true
    },
    async resolve(id, resolution, nowMs) {
      if (!/^[0-9a-f]+$/.test(id) || id.length % 2 !== 0) return false
      const force = resolution === 'force'
      const discard = resolution === 'discard'
      const [, rows = []] = await engine.together(fill(lockAndResolve, { now: engine.now(nowMs), id, force, discard }))
      return rows.length > 0
    },
  }
}
