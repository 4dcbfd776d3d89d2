/** The store contract on one SQLite connection, synchronously. worker.ts runs it in its thread. */
import type { Due, DueRequest, Page, Query, ItemOf } from '../../inbox/store.ts'
import { traitsOf, type AnswerOf, type Circumstances, type Command, type Retention } from '../../messages/commands.ts'
import { DAY_MS } from '../../messages/record.ts'
import { retentionOf } from '../../messages/retention.ts'
import { createScan } from '../lists.ts'
import { runLocally } from '../local.ts'
import { asStoreError, type Database } from './database.ts'
import { cut, integer, text } from './encoding.ts'
import { createRecords } from './records.ts'
import { createScans } from './scanning.ts'
import { createWorkerTable } from './workers.ts'
import { sql, type Sql } from '../../runtime/sql.ts'

export type Engine = ReturnType<typeof createEngine>

/** The time of a call, by the clock of the receiver: see `Circumstances`. */
export type Times = Pick<Circumstances, 'nowMs' | 'trustedMs'>

export interface EngineOptions {
  readonly database: Database
  readonly retention: Parameters<typeof retentionOf>[0]
}

/** Each call is one transaction. */
export function createEngine({ database, retention: days }: EngineOptions) {
  const { db, transaction } = database
  const retention = retentionOf(days)
  const { operations, recordIn, due, overdue } = createRecords(database)
  const engine = { ...operations, ...createScans(database, recordIn) }
  const aged = createAging(database, retention)
  const workers = createWorkerTable(database, engine, retention)
  const scan = createScan(engine)

  return {
    run<C extends Command>(commands: readonly C[], times: Times): readonly AnswerOf<C>[] {
      const about = { ...times, retention, worker: workers.own }
      return transaction(commands.some(isDurableCommand), times.nowMs, () => runLocally(engine, commands, about))
    },
    due({ of, limit, exclude = NO_KEYS }: DueRequest, { nowMs, trustedMs }: Times): Due {
      if (of === 'retention') return { keys: aged(trustedMs, limit), nextInMs: undefined }
      const { keys, nextMs } = (of === 'events' ? due : overdue)({ of, limit, exclude, nowMs })
      return { keys, nextInMs: nextMs === undefined ? undefined : Math.max(0, nextMs - nowMs) }
    },
    scan<Q extends Query>(query: Q): Page<ItemOf<Q>> {
      const page = scan(query)
      if (page instanceof Promise) throw new TypeError('A local engine answers at once.')
      return page
    },
    counts: engine.counts,
    setBack: database.setBack,
    compact(): void {
      // Even with `secure_delete`, older versions of a row remain in the free space of split pages.
      try {
        db.exec(sql`VACUUM`)
        db.exec(sql`PRAGMA wal_checkpoint(TRUNCATE)`)
      } catch (error) {
        throw asStoreError(error)
      }
    },
    close(): void {
      try {
        if (workers.ownName !== undefined) workers.release(workers.ownName)
      } finally {
        db.close()
      }
    },
    workers,
  }
}

const NO_KEYS: ReadonlySet<string> = new Set()

export function isDurableCommand(command: Pick<Command, 'do'>): boolean {
  return traitsOf(command).effect === 'durable'
}

/** Finds records that may contain expired events, in bounded steps. `expire` decides what expires. */
function createAging({ db }: Database, { payloadMs, deadLetterMs, dedupeMs }: Retention) {
  const prepare = (text: Sql) => db.prepare(text)
  const oldRecords = prepare(sql`
SELECT lower(hex(key)) AS key FROM records WHERE forget_day < ? ORDER BY forget_day LIMIT ?`)
  const oldDeadLetters = prepare(sql`
SELECT DISTINCT lower(hex(key)) AS key FROM dead_letters JOIN records ON number = message WHERE died_at < ? LIMIT ?`)
  const payloadsFrom = prepare(sql`
SELECT seq, ${cut(sql`admitted_at`)} AS admitted_at, lower(hex(key)) AS key FROM payloads JOIN records ON number = message
WHERE seq > ? ORDER BY seq LIMIT ?`)
  /** Position of the walk through the payloads, which skips those of waiting events. It restarts after the last old payload. */
  let after = 0

  /** Payloads are ordered by time, so the walk ends at the first page without an old one. */
  function oldPayloads(beforeMs: number, limit: number) {
    const page = payloadsFrom.all(after, limit)
    const old = page.filter((row) => integer(row, 'admitted_at') < beforeMs)
    const last = page.at(-1)
    after = last !== undefined && old.length > 0 && page.length === limit ? integer(last, 'seq') : 0
    return old
  }

  return (nowMs: number, limit: number): readonly string[] => {
    const now = Math.floor(nowMs)
    const rows = [
      ...oldRecords.all(Math.floor((now - dedupeMs) / DAY_MS), limit),
      ...oldDeadLetters.all(now - deadLetterMs, limit),
      ...oldPayloads(now - payloadMs, limit),
    ]
    return [...new Set(rows.map((row) => text(row, 'key')))]
  }
}
