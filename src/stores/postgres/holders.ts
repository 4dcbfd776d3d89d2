/** This process as a holder of leases, and who else is one. */
import { withDeadline, type Clock } from '../../clock.ts'
import type { OpenStore, StoreHolder, StoreHost } from '../../inbox/store.ts'
import { createHolding, DEAD_AFTER_MS, GAP_MS, HOLDER_NAME, type Beat, type Beaten } from '../holding.ts'
import { hexOf, integer, isNull, text, truth } from './encoding.ts'
import type { Engine } from './engine.ts'
import { fill, SERVER_NOW } from './sql-text.ts'

/** See the functions. :holder, :name (hex of UTF-8), :isFirst, :deadAfter, :gap, :from. */
const BEAT = /* sql */ `
SELECT is_known, is_alone, next_death, has_released FROM {schema}.beat_{set}(
  {now}, :holder, convert_from(decode(:name, 'hex'), 'UTF8'), :isFirst, :deadAfter, :gap, :from
);
`
const LEAVE = /* sql */ 'SELECT {schema}.leave_{set}({now}, :holder, :from) AS has_released;'

/** Those who are there, with how many events each holds. :from. */
const HOLDERS = /* sql */ `
SELECT h.id, encode(convert_to(h.name, 'UTF8'), 'hex') AS name, h.since, {now} - h.beaten AS silent,
  (SELECT count(*) FROM {schema}.waiting w WHERE w.turn > :from AND w.leased AND w.holder = h.id) AS held
FROM {schema}.holders h WHERE h.id <> 0 AND h.gone_since IS NULL ORDER BY h.since, h.id;
`

/** Of nobody: such a lease ends by itself. */
const NOBODY = 0
/** A database that does not answer so soon keeps nobody from starting. */
const BEGIN_MS = 1_000

interface HolderOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly host: StoreHost
  /** The callers' clocks say when a lease ends, which tell nothing of when that is by the server's. */
  readonly byCallers: boolean
  /** To be called where something is due for others, too. */
  readonly tell: () => void
}

interface PostgresHolder {
  /** Shows life from now on. Admissions lease nothing before. */
  begin(): Promise<void>
  /** To lease under where that is allowed now; undefined where it must be asked first. */
  readonly now: number | undefined
  /**
   * Runs a claim under a holder that lives; once more where it says, by undefined, that others have taken that one for dead.
   * Rejects where the database does not answer.
   */
  leasing<T>(
    claim: (holder: number) => Promise<T | undefined>,
  ): Promise<{ readonly result: T | undefined; readonly holder: number }>
  readonly isHeld: NonNullable<OpenStore['isHeld']>
  readonly holders: () => Promise<readonly StoreHolder[]>
  /** Whether leases are still taken under this one. */
  isStill(holder: number): boolean
  /** Gives back what is still leased. */
  leave(): Promise<void>
}

export function createHolder({ engine, clock, host, byCallers, tell }: HolderOptions): PostgresHolder {
  const [beatSql, leaveSql, holdersSql] = [engine.sql(BEAT), engine.sql(LEAVE), engine.sql(HOLDERS)]
  const from = { sql: byCallers ? '0' : SERVER_NOW }
  const name = hexOf(HOLDER_NAME)

  async function beat({ id, isFirst }: Beat): Promise<Beaten> {
    const times = { deadAfter: DEAD_AFTER_MS, gap: GAP_MS }
    const [[row] = []] = await engine.together(fill(beatSql, { holder: Number(id), name, isFirst, ...times, from }))
    if (row === undefined) throw new Error('The database did not answer a beat.')
    const hasReleased = truth(row, 'has_released')
    if (hasReleased) tell()
    return {
      isKnown: truth(row, 'is_known'),
      isAlone: truth(row, 'is_alone'),
      nextDeathInMs: isNull(row, 'next_death') ? undefined : integer(row, 'next_death'),
      hasReleased,
    }
  }

  const { onLost } = host
  const holding =
    host.claims === false
      ? undefined
      : createHolding({ clock, beat, onLost: () => onLost?.(() => true), onWork: host.onWork })

  return {
    async begin() {
      if (holding === undefined) return
      // What it cannot say yet it says with the next beat.
      await withDeadline(clock, BEGIN_MS, Promise.allSettled([holding.sure()]), () => undefined)
    },
    get now() {
      if (holding === undefined) return NOBODY
      return holding.isHeld() === true ? Number(holding.id) : undefined
    },
    async leasing(claim) {
      if (holding === undefined) return { result: await claim(NOBODY), holder: NOBODY }
      const before = await holding.sure()
      const result = await claim(Number(before))
      if (result !== undefined) return { result, holder: Number(before) }
      holding.refuse(before)
      const holder = Number(await holding.sure())
      return { result: await claim(holder), holder }
    },
    isStill: (holder) => holding === undefined || holding.id === String(holder),
    isHeld: () => (holding === undefined ? true : holding.isHeld()),
    async holders() {
      const [rows = []] = await engine.together(fill(holdersSql, { from }))
      return rows.map((row): StoreHolder => {
        const id = text(row, 'id')
        return {
          id,
          name: Buffer.from(text(row, 'name'), 'hex').toString('utf8'),
          isSelf: id === holding?.id,
          sinceMs: integer(row, 'since'),
          silentMs: Math.max(0, integer(row, 'silent')),
          held: integer(row, 'held'),
        }
      })
    },
    async leave() {
      if (holding === undefined) return
      await holding.stop()
      try {
        const [[row] = []] = await engine.together(fill(leaveSql, { holder: Number(holding.id), from }))
        if (row !== undefined && truth(row, 'has_released')) tell()
      } catch {
        // The database is away: without a beat, others take what is left in a few seconds.
      }
    },
  }
}
