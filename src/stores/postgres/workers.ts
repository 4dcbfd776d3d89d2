/** This process as a worker that holds leases: it shows life, and ends the leases of those that are gone. */
import { withDeadline, type Clock } from '../../clock.ts'
import type { Runner } from '../../inbox/runtime/runner.ts'
import type { OpenStore, StoreHolder, StoreHost } from '../../inbox/store.ts'
import { release } from '../../messages/deliver.ts'
import { createHolding, DEAD_AFTER_MS, GAP_MS, HOLDER_NAME, type Beat, type Beaten } from '../holding.ts'
import { integer, integerOrNone, isNull, numberValue, text, textValue, truth } from './encoding.ts'
import type { Engine } from './engine.ts'

/** A write of a worker that was found dead may still arrive for so long: its leases are looked for with each heartbeat. */
const SWEPT_MS = 60_000
/** Of what is leased or retried next, so much is looked at: not a whole backlog of retries. */
const MOST_SWEPT = 100_000
/** A database that does not answer so soon keeps nobody from starting. */
const BEGIN_MS = 1_000

interface Workers {
  /** Shows life from now on. */
  begin(): Promise<void>
  /** The name to lease under; empty where nobody claims here. */
  readonly name: string
  /** Whether this process may lease without asking first. */
  readonly isSure: boolean
  /** Resolves once it may lease; rejects where the database does not answer. */
  sure(): Promise<void>
  readonly isHeld: NonNullable<OpenStore['isHeld']>
  readonly holders: NonNullable<OpenStore['holders']>
  /** Gives back what is still leased. */
  leave(): Promise<void>
}

interface WorkersOptions {
  readonly engine: Engine
  readonly runner: Runner
  readonly clock: Clock
  readonly host: StoreHost
  /** To be called where something is due for others, too. */
  readonly tell: () => void
}

export function createWorkers({ engine, runner, clock, host, tell }: WorkersOptions): Workers {
  const { sql, together } = engine
  // Where callers' clocks count, leases end by them, which tell nothing of when that is by the server's.
  const fromNow = engine.clock === undefined ? 'd.at > 0' : 'd.at > {now}'

  async function beat({ id, isFirst }: Beat): Promise<Beaten> {
    const [, , , , , [row] = []] = await together(sql(heartbeat(Number(id), isFirst)))
    if (row === undefined) throw new Error('The database did not answer a heartbeat.')
    const hasReleased = (isFirst || truth(row, 'has_gone')) && (await releaseGone())
    if (hasReleased) tell()
    return {
      isKnown: truth(row, 'is_known'),
      isAlone: truth(row, 'is_alone'),
      nextDeathInMs: isNull(row, 'next_death') ? undefined : integer(row, 'next_death'),
      hasReleased,
    }
  }

  /** Ends the leases of workers that are gone, or that nobody knows, as after a failover that lost the latest writes. */
  async function releaseGone(): Promise<boolean> {
    const [rows = []] = await together(
      sql(`
SELECT encode(r.key, 'hex') AS key, near.worker FROM (
  SELECT d.record, d.worker FROM {schema}.due d WHERE ${fromNow} ORDER BY d.at LIMIT ${MOST_SWEPT}
) near JOIN {schema}.records r ON r.number = near.record
WHERE near.worker IS NOT NULL
  AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.id = near.worker AND w.gone_since IS NULL);`),
    )
    const answers = await runner.run(
      rows.map((row) => {
        const worker = text(row, 'worker')
        return { key: text(row, 'key'), decide: (record) => release(record, worker) }
      }),
    )
    return answers.includes(true)
  }

  const { onLost } = host
  const holding =
    host.claims === false
      ? undefined
      : createHolding({ clock, beat, onLost: () => onLost?.(() => true), onWork: host.onWork })

  return {
    async begin() {
      if (holding === undefined) return
      // What it cannot say yet it says with the next heartbeat.
      await withDeadline(clock, BEGIN_MS, Promise.allSettled([holding.sure()]), () => undefined)
    },
    get name() {
      return holding?.id ?? ''
    },
    get isSure() {
      return holding === undefined || holding.isHeld() === true
    },
    async sure() {
      await holding?.sure()
    },
    isHeld: () => (holding === undefined ? true : holding.isHeld()),
    async holders() {
      const [rows = []] = await together(
        sql(`
SELECT w.id, encode(convert_to(w.name, 'UTF8'), 'hex') AS name, w.since, {now} - w.beaten AS silent,
  (SELECT count(*) FROM {schema}.due d WHERE ${fromNow} AND d.worker = w.id) AS held
FROM {schema}.workers w WHERE w.id <> 0 AND w.gone_since IS NULL ORDER BY w.since, w.id;`),
      )
      return rows.map((row): StoreHolder => {
        const id = text(row, 'id')
        return {
          id,
          name: Buffer.from(text(row, 'name'), 'hex').toString('utf8'),
          isSelf: id === holding?.id,
          sinceMs: integerOrNone(row, 'since'),
          silentMs: Math.max(0, integer(row, 'silent')),
          held: integer(row, 'held'),
        }
      })
    },
    async leave() {
      if (holding === undefined) return
      await holding.stop()
      try {
        await together(
          sql(
            `UPDATE {schema}.workers SET gone_since = {now} WHERE id = ${Number(holding.id)} AND gone_since IS NULL;`,
          ),
        )
        if (await releaseGone()) tell()
      } catch {
        // The database is away: without a heartbeat, others take what is left in a few seconds.
      }
    },
  }
}

/**
 * Row 0 shows when any worker was alive, and since when without a gap. Who was silent for too long is gone, unless all were: then
 * the server was away, or its clock was set, and all are given that time anew. A time from far in the future is of a clock that was
 * set back since.
 */
function heartbeat(id: number, isFirst: boolean): string {
  const self = numberValue(id)
  const arrived = isFirst
    ? `INSERT INTO {schema}.workers (id, name, since, beaten)
  VALUES (${self}, convert_from(${textValue(HOLDER_NAME)}, 'UTF8'), {now}, {now}) ON CONFLICT DO NOTHING;`
    : 'SELECT;'
  const others = `w.id NOT IN (0, ${self}) AND w.gone_since IS NULL`
  const isKnown = `EXISTS (SELECT FROM {schema}.workers WHERE id = ${self} AND gone_since IS NULL)`
  return `
INSERT INTO {schema}.workers AS w (id, name, since, beaten) VALUES (0, '', {now}, {now})
ON CONFLICT (id) DO UPDATE SET beaten = {now}, since = CASE
  WHEN {now} - w.beaten BETWEEN -${GAP_MS} AND ${GAP_MS} AND w.since <= {now} + ${GAP_MS} THEN w.since ELSE {now} END;
UPDATE {schema}.workers SET beaten = {now} WHERE id = ${self} AND gone_since IS NULL;
${arrived}
UPDATE {schema}.workers w SET gone_since = {now}
WHERE ${others} AND w.beaten NOT BETWEEN {now} - ${DEAD_AFTER_MS} AND {now} + ${DEAD_AFTER_MS} AND ${isKnown}
  AND (SELECT since FROM {schema}.workers WHERE id = 0) <= {now} - ${DEAD_AFTER_MS};
DELETE FROM {schema}.workers WHERE gone_since NOT BETWEEN {now} - ${SWEPT_MS} AND {now} + ${SWEPT_MS};
SELECT ${isKnown} AS is_known,
  EXISTS (SELECT FROM {schema}.workers WHERE gone_since IS NOT NULL) AS has_gone,
  count(*) = 0 AS is_alone,
  greatest(min(w.beaten), (SELECT since FROM {schema}.workers WHERE id = 0)) + ${DEAD_AFTER_MS} - {now} AS next_death
FROM {schema}.workers w WHERE ${others};`
}
