/** Keeps partitions by time: made some days ahead, dropped when their time is over, by whichever process comes first. */
import { integer, isNull, text, truth } from './encoding.ts'
import type { Engine } from './engine.ts'
import { fill, type Piece } from './sql-text.ts'

/** Whether events stand in partitions: a schema may be partitioned while a store is open. */
const IS_PARTITIONED = /* sql */ `
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_class c WHERE c.oid = '{schema}.events'::pg_catalog.regclass AND c.relkind = 'p'
) AS partitioned
`
const DAYS = /* sql */ 'SELECT days FROM {schema}.partitioning'

/** See the functions. :now, :payloads, :identities, :after, :limit. One row. */
const UPKEEP = /* sql */ 'SELECT * FROM {schema}.upkeep_{set}(:now, :payloads, :identities, :after, :limit);'
const FORGET_MESSAGES = /* sql */ 'SELECT * FROM {schema}.forget_messages_{set}(:after, :identities, :limit);'

/** What one call does at most, beside forgetting rows: each is a transaction, and admissions wait for some of them. */
const MOST_ACTIONS = 16
const FROM_THE_START: Piece = { sql: '(-9223372036854775808)' }
/** Before every event: nothing is forgotten. */
const NEVER: Piece = { sql: '0' }

interface Horizons {
  readonly payloads: Piece
  readonly identities: Piece
  /** Rows of each kind. */
  readonly limit: number
}

interface Upkeep {
  /** How many days a partition is; undefined where there are none. */
  days(): Promise<number | undefined>
  /** Makes what is missing ahead. */
  ahead(nowMs: number): Promise<void>
  /** Does what is due, a step of it; returns how many rows were forgotten. */
  step(nowMs: number, horizons: Horizons): Promise<number>
}

export function createUpkeep(engine: Engine): Upkeep {
  const isPartitioned = engine.sql(IS_PARTITIONED)
  const days = engine.sql(DAYS)
  const upkeep = engine.sql(UPKEEP)
  const forgetMessages = engine.sql(FORGET_MESSAGES)
  /** How far the payloads of a partition, and the messages, were gone through. */
  let after = FROM_THE_START
  let afterMessage = FROM_THE_START

  async function act(nowMs: number, horizons: Horizons): Promise<number> {
    for (let action = 0; action < MOST_ACTIONS; action += 1) {
      const [[row] = []] = await engine.together(fill(upkeep, { now: engine.now(nowMs), after, ...horizons }))
      if (row === undefined) return 0
      after = isNull(row, 'walked') ? FROM_THE_START : { sql: `(${text(row, 'walked')})` }
      // What is locked now will be free when somebody looks again.
      if (isNull(row, 'done') || text(row, 'done') === 'busy') return 0
      const touched = integer(row, 'touched')
      if (touched > 0) return touched
    }
    // There may be more to do, so it is asked again soon.
    return 1
  }

  return {
    async days() {
      const [found] = await engine.connections.query(isPartitioned)
      if (found === undefined || !truth(found, 'partitioned')) return undefined
      const [row] = await engine.connections.query(days)
      return row === undefined ? undefined : integer(row, 'days')
    },
    async ahead(nowMs) {
      await act(nowMs, { payloads: NEVER, identities: NEVER, limit: 0 })
    },
    async step(nowMs, horizons) {
      const touched = await act(nowMs, horizons)
      const { identities, limit } = horizons
      const [[row] = []] = await engine.together(fill(forgetMessages, { after: afterMessage, identities, limit }))
      if (row === undefined) return touched
      afterMessage = isNull(row, 'walked') ? FROM_THE_START : { sql: `(${text(row, 'walked')})` }
      return touched + integer(row, 'forgotten')
    },
  }
}
