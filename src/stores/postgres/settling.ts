/** What becomes of events after an attempt, and dead letters that are to be tried again. */
import type { Resolution, Settlement } from '../../inbox/store.ts'
import { hexOf } from './encoding.ts'
import type { Engine } from './engine.ts'
import { placesByKey } from './key-order.ts'
import { truths, type Row } from './row.ts'
import { fill } from './sql-text.ts'
import { LOCK_DEAD } from './statements/lock-dead.ts'
import { RESOLVE } from './statements/resolve.ts'
import { SETTLE } from './statements/settle.ts'

const STATES = { retry: 0, done: 1, dead: 2, unbegun: 3 } as const

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

export function createSettling(engine: Engine, slackMs: number): Settling {
  const statement = engine.sql(SETTLE)
  const lockAndResolve = engine.sql(LOCK_DEAD + RESOLVE)

  /** The statement, for settlements in the order in which every batch locks its messages. */
  function filled(settlements: readonly Settlement[], nowMs: number): string {
    return fill(statement, {
      now: engine.now(nowMs),
      slack: slackMs,
      keys: settlements.map(({ messageKey }) => messageKey),
      ids: settlements.map(({ id }) => id),
      tokens: settlements.map(({ token }) => token),
      states: settlements.map(({ outcome }) => STATES[outcome]),
      aheads: settlements.map((given) => ('dueMs' in given ? given.dueMs - nowMs : 0)),
      errors: settlements.map((given) => ('error' in given ? hexOf(given.error) : '')),
    })
  }

  return {
    async settle(settlements, nowMs) {
      if (settlements.length === 0) return []
      const places = placesByKey(settlements)
      const sorted = places.flatMap((place) => settlements[place] ?? [])
      const [[row] = []] = await engine.together(filled(sorted, nowMs))
      const held = row === undefined ? [] : truths(row, 'held')
      const answers = settlements.map(() => false)
      for (const [index, place] of places.entries()) answers[place] = held[index] === true
      return answers
    },
    async settleIn(batch, settlement, nowMs) {
      const row = (await batch(engine.limits + filled([settlement], nowMs))).at(-1)?.[0]
      return row !== undefined && truths(row, 'held')[0] === true
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
