/** Under whose name leases are held, so that those of a dead process need not run out. */
import type { Runner } from '../../inbox/runtime/runner.ts'
import { release, takeBack } from '../../messages/deliver.ts'
import { UNTIMED, type Database } from './database.ts'
import { integer, prepare, text } from './statements.ts'

/** Enters a store that is open under the name of its folder; once more when its thread was started anew. */
const INSERT_HOLDER = /* sql */ `
INSERT INTO workers (name, process, since) VALUES (:name, :process, :since)
`

/** Nothing is looked for under this name any more. */
const DELETE_HOLDER = /* sql */ `
DELETE FROM workers WHERE worker = :worker
`

/** One store under all that it was entered as. */
const HOLDERS_OF_NAME = /* sql */ `
SELECT worker FROM workers WHERE name = :name
`

/**
 * All that are entered, each with what it has leased; it walks through what is unsettled, as HELD_RECORDS. A corrupt time counts
 * for none.
 */
const LIST_HOLDERS = /* sql */ `
SELECT name, min(process) AS process, sum(coalesce(held, 0)) AS held,
  CASE WHEN min(since) BETWEEN 0 AND 4102444800000 THEN min(since) END AS since
FROM workers LEFT JOIN (
  SELECT worker AS of_worker, count(*) AS held
  FROM records INDEXED BY records_due WHERE due IS NOT NULL AND worker IS NOT NULL GROUP BY records.worker
) ON of_worker = worker
GROUP BY name ORDER BY min(since), min(worker)
`

/** Stores that are open, or were when their process ended; all where :own is null. */
const OTHER_HOLDERS = /* sql */ `
SELECT worker, name FROM workers WHERE worker IS NOT :own
`

/**
 * Records under a lease of this worker. It walks through what is unsettled, once for each death, so that no claim has an index
 * more to write (35 ms where 200,000 messages wait, measured).
 */
const HELD_RECORDS = /* sql */ `
SELECT lower(hex(key)) AS key FROM records INDEXED BY records_due WHERE due IS NOT NULL AND worker = :worker
`

interface Holder {
  readonly holder: number
  /** Of the folder whose lock says whether it is alive. */
  readonly name: string
}

/** A store that leases. */
export interface HoldingStore {
  /** Of its folder. */
  readonly name: string
  /** The machine's name and the process id. */
  readonly process: string
  /** When it was opened. */
  readonly sinceMs: number
}

/** As the file has it; whether it is alive the file does not say. Of one that an earlier version entered less is known. */
export interface ListedHolder extends Pick<HoldingStore, 'name'> {
  readonly process: string | undefined
  readonly sinceMs: number | undefined
  /** Events under its leases. */
  readonly held: number
}

export interface Holders {
  /** Undefined before `hold`, and where the process could not show that it is alive: then others wait for its leases. */
  readonly own: number | undefined
  hold(store: HoldingStore): void
  others(): readonly Holder[]
  /** All, the longest there first. */
  listed(): readonly ListedHolder[]
  /** Makes due what a dead holder held, and removes it. Says how many records that were. */
  release(holder: number): number
  /** Takes the name back: what was leased under it is due at once, as after a death. */
  letGo(): void
  /** Takes back what was leased under `name` before the present `hold`, but for the records in `inFlight`. */
  takeBackAllBut(inFlight: ReadonlySet<string>, name: string): void
}

export function createHolders({ db, transaction }: Database, runner: Runner): Holders {
  const insertHolder = prepare(db, INSERT_HOLDER)
  const deleteHolder = prepare(db, DELETE_HOLDER)
  const holdersOfName = prepare(db, HOLDERS_OF_NAME)
  const otherHolders = prepare(db, OTHER_HOLDERS)
  const listHolders = prepare(db, LIST_HOLDERS)
  const heldRecords = prepare(db, HELD_RECORDS)
  let own: number | undefined
  let ownName = ''

  const heldBy = (worker: number): readonly string[] => heldRecords.all({ worker }).map((row) => text(row, 'key'))

  function releaseOf(worker: number): number {
    const keys = heldBy(worker)
    void runner.run(keys.map((key) => ({ key, decide: (record) => release(record, String(worker)) })))
    deleteHolder.run({ worker })
    return keys.length
  }

  const others = (): readonly Holder[] =>
    otherHolders.all({ own: own ?? null }).map((row) => ({ holder: integer(row, 'worker'), name: text(row, 'name') }))

  return {
    get own() {
      return own
    },
    hold({ name, process, sinceMs }) {
      own = transaction(false, UNTIMED, () =>
        Number(insertHolder.run({ name, process, since: sinceMs }).lastInsertRowid),
      )
      ownName = name
    },
    others,
    listed: () =>
      listHolders.all().map((row) => ({
        name: text(row, 'name'),
        process: typeof row['process'] === 'string' ? row['process'] : undefined,
        sinceMs: typeof row['since'] === 'number' ? row['since'] : undefined,
        held: integer(row, 'held'),
      })),
    release: (holder) => transaction(false, UNTIMED, () => releaseOf(holder)),
    letGo() {
      if (own === undefined) return
      transaction(false, UNTIMED, () => {
        for (const row of holdersOfName.all({ name: ownName })) releaseOf(integer(row, 'worker'))
      })
      own = undefined
    },
    takeBackAllBut: (inFlight, name) =>
      transaction(false, UNTIMED, () => {
        for (const { holder } of others().filter((other) => other.name === name)) {
          const keys = heldBy(holder).filter((key) => !inFlight.has(key))
          void runner.run(keys.map((key) => ({ key, decide: (record) => takeBack(record, () => true) })))
        }
      }),
  }
}
