/** Under whose name leases are held, so that those of a dead process need not run out. */
import { releaseCommand, type Command, type Runner } from '../../inbox/runtime/commands.ts'
import { takeBack } from '../../messages/events.ts'
import { UNTIMED, type Database } from './database.ts'
import { integer, text, textOrNone } from './statements.ts'

/** A store that leases. */
export interface Worker {
  /** Of its folder, whose lock says whether the worker is alive. */
  readonly name: string
  /** The machine's name and the process id. */
  readonly process: string
  /** When it was opened. */
  readonly sinceMs: number
}

/** As the file has it, which does not say whether the worker is alive. Of one that an earlier version entered less is known. */
export interface ListedWorker extends Pick<Worker, 'name'> {
  readonly process: string | undefined
  readonly sinceMs: number | undefined
  /** Events under its leases. */
  readonly held: number
}

export type Workers = ReturnType<typeof createWorkers>

export function createWorkers({ db, transaction }: Database, runner: Runner) {
  const prepare = (sql: string) => db.prepare(sql)
  const insert = prepare('INSERT INTO workers (name, process, since) VALUES (?, ?, ?)')
  const remove = prepare('DELETE FROM workers WHERE name = ?')
  /**
   * Records under a lease of this worker. It walks through what is unsettled, once for each death, so that no claim has an index
   * more to write (35 ms where 200,000 messages wait, measured).
   */
  const heldBy = prepare(/* sql */ `
SELECT lower(hex(key)) AS key, CAST(workers.worker AS TEXT) AS worker
FROM records INDEXED BY records_due JOIN workers ON workers.worker = records.worker WHERE due IS NOT NULL AND name = ?`)
  /** It walks through what is unsettled, too. A corrupt time counts for none. */
  const list = prepare(/* sql */ `
SELECT name, min(process) AS process, sum(coalesce(held, 0)) AS held,
  CASE WHEN min(since) BETWEEN 0 AND 4102444800000 THEN min(since) END AS since
FROM workers LEFT JOIN (
  SELECT worker AS of_worker, count(*) AS held
  FROM records INDEXED BY records_due WHERE due IS NOT NULL AND worker IS NOT NULL GROUP BY records.worker
) ON of_worker = worker
GROUP BY name ORDER BY min(since), min(worker)`)
  let own = ''
  let ownName: string | undefined
  let hasLost = false

  function releaseNow(name: string): number {
    const held = heldBy.all(name)
    void runner.run(held.map((row) => releaseCommand(text(row, 'key'), text(row, 'worker'))))
    remove.run(name)
    return held.length
  }

  return {
    /** Named in leases; empty before `enter`, and where the process cannot show that it is alive: its leases have to expire. */
    get own() {
      return own
    },
    get ownName() {
      return ownName
    },
    /** Enters this store; once more after a restart of its thread. */
    enter({ name, process, sinceMs }: Worker, isRestart = false): void {
      own = transaction(false, UNTIMED, () => String(insert.run(name, process, sinceMs).lastInsertRowid))
      ownName = name
      hasLost = isRestart
    },
    /** All that are entered, the longest there first. */
    listed: () =>
      list.all().map((row): ListedWorker => ({
        name: text(row, 'name'),
        process: textOrNone(row, 'process'),
        sinceMs: row['since'] === null ? undefined : integer(row, 'since'),
        held: integer(row, 'held'),
      })),
    /** Ends the leases of a worker that is dead or leaves, and removes it. Answers how many leases those were. */
    release: (name: string) => transaction(false, UNTIMED, () => releaseNow(name)),
    /** After a restart of the thread: takes back the leases of the thread before whose answers were lost, which are not `inFlight`. */
    takeBackLost(inFlight: ReadonlySet<string>): void {
      if (!hasLost || ownName === undefined) return
      const held = heldBy.all(ownName)
      const lost = held.filter((row) => text(row, 'worker') !== own && !inFlight.has(text(row, 'key')))
      transaction(false, UNTIMED, () => {
        void runner.run(lost.map((row) => takeBackCommand(text(row, 'key'))))
      })
      hasLost = false
    },
  }
}

function takeBackCommand(key: string): Command<boolean> {
  return { key, decide: (record) => takeBack(record, () => true), ifNewer: { answer: false } }
}
