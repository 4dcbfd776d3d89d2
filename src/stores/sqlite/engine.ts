/** The store contract on one SQLite connection, synchronously. worker.ts runs it in its thread. */
import type { MessagingWebhooksError } from '../../public/errors.ts'
import { createOpenStore, type Verbs } from '../../inbox/runtime/open-store.ts'
import { createLocalRunner } from '../../inbox/runtime/commands.ts'
import type { ClaimRequest, OpenStore } from '../../inbox/store.ts'
import { DAY_MS } from '../../messages/record.ts'
import { retentionOf, type Retention } from '../../messages/retention.ts'
import { asOurs, type Database } from './database.ts'
import { createRecords } from './records.ts'
import { createScans } from './scanning.ts'
import { createWorkers } from './workers.ts'
import { cut, integer, text } from './encoding.ts'

export type Engine = ReturnType<typeof createEngine>

export interface EngineOptions {
  readonly database: Database
  readonly retention: Parameters<typeof retentionOf>[0]
  /** Reports a problem that fails no operation. */
  readonly report: (error: MessagingWebhooksError) => void
}

/** The operations of the contract, each one transaction. */
export function createEngine({ database, retention: days, report }: EngineOptions) {
  const { db, transaction } = database
  const retention = retentionOf(days)
  const records = createRecords(database)
  const store = {
    ...records.operations,
    ...createScans(database, records.recordIn),
    aged: createAging(database, retention),
    close() {},
  }
  const runner = createLocalRunner(store)
  const workers = createWorkers(database, runner)
  const verbs = createOpenStore({ runner, indexes: store, retention, worker: () => workers.own, report })

  /** Checks without a write transaction first, because most claims find nothing. */
  function nothingDue({ limit, nowMs, exclude }: ClaimRequest): ReturnType<OpenStore['claim']> | undefined {
    const { keys, nextDueMs } = records.operations.due({ limit: Math.min(limit, 1), nowMs, exclude })
    return keys.length > 0 ? undefined : { claims: [], nextDueMs }
  }

  const engine: Verbs = {
    ...verbs,
    admit: (events, nowMs) => transaction(true, nowMs, () => verbs.admit(events, nowMs)),
    admitAndClaim: (events, request) => transaction(true, request.nowMs, () => verbs.admitAndClaim(events, request)),
    claim: (request) => nothingDue(request) ?? transaction(false, request.nowMs, () => verbs.claim(request)),
    settle: (settlements, nowMs) => transaction(false, nowMs, () => verbs.settle(settlements, nowMs)),
    resolve: (id, resolution, nowMs) => transaction(true, nowMs, () => verbs.resolve(id, resolution, nowMs)),
    expect: (messages, nowMs) => transaction(true, nowMs, () => verbs.expect(messages, nowMs)),
    admitOverdue: (events, nowMs) => transaction(true, nowMs, () => verbs.admitOverdue(events, nowMs)),
    awaitNoMore: (ended, nowMs) => transaction(true, nowMs, () => verbs.awaitNoMore(ended, nowMs)),
    prune: (nowMs) => transaction(false, nowMs, () => verbs.prune(nowMs)),
    forget: (request, nowMs) => transaction(true, nowMs, () => verbs.forget(request, nowMs)),
    close() {
      try {
        if (workers.ownName !== undefined) workers.release(workers.ownName)
      } finally {
        db.close()
      }
    },
  }
  function eraseTraces(): void {
    // Even with `secure_delete`, older versions of a row remain in the free space of split pages.
    try {
      db.exec('VACUUM')
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      throw asOurs(error)
    }
  }

  return { ...engine, eraseTraces, workers }
}

/** Finds records that may contain expired events, in bounded steps. `expire` decides what expires. */
function createAging({ db }: Database, { payloadMs, deadLetterMs, dedupeMs }: Retention) {
  const prepare = (sql: string) => db.prepare(sql)
  const oldRecords = prepare(/* sql */ `
SELECT lower(hex(key)) AS key FROM records WHERE forget_day < ? ORDER BY forget_day LIMIT ?`)
  const oldDeadLetters = prepare(/* sql */ `
SELECT DISTINCT lower(hex(key)) AS key FROM dead_letters JOIN records ON number = message WHERE died_at < ? LIMIT ?`)
  const payloadsFrom = prepare(/* sql */ `
SELECT seq, ${cut('admitted_at')} AS admitted_at, lower(hex(key)) AS key FROM payloads JOIN records ON number = message
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
