/** What becomes of events after an attempt, and dead letters that are to be tried again. */
import type { Resolution, Settlement } from '../../inbox/store.ts'
import { hexOf, integers, type Row } from './encoding.ts'
import { placesByKey, type Engine } from './engine.ts'
import { fill } from './sql-text.ts'

/** Settles: see the function. :now, :slack, and arrays of one entry a settlement. Returns one row. */
const SETTLE =
  /* sql */ 'SELECT held FROM {schema}.settle_{set}(:now, :slack, :keys, :ids, :tokens, :states, :aheads, :errors);'

/** Locks the message of a dead letter by the :id (hex) of that. */
const LOCK_DEAD = /* sql */ `
SELECT count(*) AS locked FROM (
  SELECT id FROM {schema}.messages
  WHERE id = (SELECT message FROM {schema}.dead_letters WHERE id = decode(:id, 'hex') LIMIT 1) FOR UPDATE
) AS found;
`

/**
 * Ends the state of a dead letter, whose message is locked. :now, :id (hex), :discard, :force. It waits again, its attempts
 * counted anew, as late where a later event was handed over meanwhile; or it is settled. What is left of a damaged one is
 * found damaged again by whoever claims it. Returns a row where there was one.
 */
const RESOLVE = /* sql */ `
WITH dead AS MATERIALIZED (
  SELECT d.seq, d.message, d.id, d.awaits, coalesce(e.ord, d.ord) AS ord, coalesce(e.final, false) AS final,
    NOT :force AND e.ord <> ''
      AND coalesce(e.ord < (CASE WHEN e.final THEN m.handed_open ELSE m.handed END), false) AS late,
    EXISTS (SELECT FROM {schema}.waiting w WHERE w.message = d.message) AS others
  FROM {schema}.dead_letters d LEFT JOIN {schema}.events e ON e.message = d.message AND e.id = d.id
    LEFT JOIN {schema}.messages m ON m.id = d.message
  WHERE d.id = decode(:id, 'hex') ORDER BY e.id IS NULL LIMIT 1
), ended AS (
  DELETE FROM {schema}.dead_letters d USING dead WHERE d.seq = dead.seq
), discarded AS (
  UPDATE {schema}.events e SET since = :now FROM dead WHERE :discard AND e.message = dead.message AND e.id = dead.id
), queued AS (
  UPDATE {schema}.waiting w SET turn = least(w.turn, :now)
  FROM dead WHERE NOT :discard AND w.message = dead.message AND w.turn IS NOT NULL AND NOT w.leased
), back AS (
  -- Its retention counts from its settlement, whenever it was admitted.
  INSERT INTO {schema}.waiting
    (message, ord, id, final, awaits, late, replay, admitted, due, attempts, token, turn, leased)
  SELECT message, ord, id, final, awaits, late, true, 0, :now, 0, 0, CASE WHEN NOT others THEN :now END, false
  FROM dead WHERE NOT :discard
  ON CONFLICT DO NOTHING
)
SELECT seq FROM dead;
`

/** With so few milliseconds more a settlement, sixteen processes at 60 events a second each settle half as often. */
export const SETTLE_HOLD_MS = 25
const HELD_WITH_REST = 2

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

/** `onRest`: something else of a message whose event has ended may be due. */
export function createSettling(engine: Engine, slackMs: number, onRest: () => void): Settling {
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
      const held = row === undefined ? [] : integers(row, 'held')
      if (held.includes(HELD_WITH_REST)) onRest()
      const answers = settlements.map(() => false)
      for (const [index, place] of places.entries()) answers[place] = (held[index] ?? 0) > 0
      return answers
    },
    async settleIn(batch, settlement, nowMs) {
      const row = (await batch(engine.limits + filled([settlement], nowMs))).at(-1)?.[0]
      return row !== undefined && (integers(row, 'held')[0] ?? 0) > 0
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
