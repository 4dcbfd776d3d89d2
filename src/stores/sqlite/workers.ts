/** The workers of the file, so that leases of a dead process need not expire. */
import { releaseCommand, type Runner } from '../../inbox/runtime/commands.ts'
import { UNTIMED, type Database } from './database.ts'
import { cut, integer, text } from './statements.ts'

/** A process that leases events. */
export interface Worker {
  /** The name of its folder, whose lock shows whether the worker is alive. */
  readonly name: string
  /** Host name and process id. */
  readonly process: string
  /** When the process opened the store. */
  readonly sinceMs: number
}

/** A worker as stored in the file, alive or not. */
export interface ListedWorker extends Worker {
  /** Events under its leases. */
  readonly held: number
}

export type Workers = ReturnType<typeof createWorkers>

export function createWorkers({ db, transaction }: Database, runner: Runner) {
  const prepare = (sql: string) => db.prepare(sql)
  const insert = prepare('INSERT INTO workers (name, process, since) VALUES (?, ?, ?)')
  const remove = prepare('DELETE FROM workers WHERE name = ?')
  /**
   * Records leased by this worker. Walks through unsettled records, once per death, so that claims need not maintain another
   * index (35 ms with 200,000 waiting messages, measured).
   */
  const heldBy = prepare(/* sql */ `
SELECT lower(hex(key)) AS key, CAST(workers.worker AS TEXT) AS worker
FROM records INDEXED BY records_due JOIN workers ON workers.worker = records.worker WHERE due IS NOT NULL AND name = ?`)
  /** Walks through unsettled records like `heldBy`. */
  const list = prepare(/* sql */ `
SELECT name, min(process) AS process, sum(coalesce(held, 0)) AS held, ${cut('min(since)')} AS since
FROM workers LEFT JOIN (
  SELECT worker AS of_worker, count(*) AS held
  FROM records INDEXED BY records_due WHERE due IS NOT NULL AND worker IS NOT NULL GROUP BY records.worker
) ON of_worker = worker
GROUP BY name ORDER BY min(since), min(worker)`)
  let own = ''
  let ownName: string | undefined

  function releaseNow(name: string): number {
    const held = heldBy.all(name)
    void runner.run(held.map((row) => releaseCommand(text(row, 'key'), text(row, 'worker'))))
    remove.run(name)
    return held.length
  }

  return {
    /**
     * The worker's name in leases. Empty before `enter`, and if the process cannot hold a lock: its leases then expire by time.
     */
    get own() {
      return own
    },
    get ownName() {
      return ownName
    },
    /**
     * Registers this worker, again after a restart of its thread. Leases whose answers were lost with the old thread expire by
     * time.
     */
    enter({ name, process, sinceMs }: Worker): void {
      own = transaction(false, UNTIMED, () => String(insert.run(name, process, sinceMs).lastInsertRowid))
      ownName = name
    },
    /** All registered workers, oldest first. */
    listed: () =>
      list.all().map((row): ListedWorker => ({
        name: text(row, 'name'),
        process: text(row, 'process'),
        sinceMs: integer(row, 'since'),
        held: integer(row, 'held'),
      })),
    /** Releases the leases of a worker that is dead or closes, and removes it. Returns the number of leases. */
    release: (name: string) => transaction(false, UNTIMED, () => releaseNow(name)),
  }
}
