/** The store contract on one SQLite connection, synchronously; store.ts decides in which thread it runs. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { EventPlace } from '../../inbox/record-store.ts'
import { createOpenStore } from '../../inbox/runtime/open-store.ts'
import { createLocalRunner } from '../../inbox/runtime/runner.ts'
import type { ClaimRequest, NewEvent, OpenStore } from '../../inbox/store.ts'
import { takeBack } from '../../messages/deliver.ts'
import { retentionOf } from '../../messages/expire.ts'
import { NO_LEASE, type AdmittedAndLeased } from '../leasable.ts'
import { createAging } from './aging.ts'
import { asOurs, type Database } from './database.ts'
import { createHolders, type Holders } from './holders.ts'
import { createRecords } from './records.ts'
import { createScans } from './scanning.ts'

/** How often the file is looked for at its path. */
const CHECK_FILE_EVERY_MS = 1_000

/** In days. */
export interface RetentionDays {
  /** Payloads of settled events. */
  readonly retentionDays: number
  readonly deadLetterDays: number
  /** Identities: how long a duplicate is recognised. */
  readonly dedupeDays: number
}

export interface Engine extends Omit<OpenStore, 'admitAndClaim'>, Pick<Holders, 'hold' | 'takeBackAllBut'> {
  /** The caller has the records and bodies. */
  admitAndClaim(events: readonly NewEvent[], request: ClaimRequest): Promise<AdmittedAndLeased> | AdmittedAndLeased
  /** Takes back the leases of these events, where they were admitted at all. */
  takeBack(places: readonly EventPlace[], nowMs: number): void
  listedHolders(): ReturnType<Holders['listed']>
}

/** The verbs of the contract, each one transaction. */
export function createEngine(options: {
  readonly database: Database
  readonly retention: RetentionDays
  /** Something is wrong though every verb succeeds. */
  readonly report: (error: MessagingWebhooksError) => void
}): { readonly engine: Engine; readonly holders: Holders } {
  const { database, retention: days, report } = options
  const { db, transaction, file } = database
  const retention = retentionOf(days)
  const { recordIn, ...records } = createRecords(database, report)
  const store = {
    ...records,
    ...createScans(database, recordIn),
    aged: createAging(database, retention),
    close() {},
  }
  const runner = createLocalRunner(store)
  const holders = createHolders(database, runner)
  const worker = (): string => (holders.own === undefined ? '' : String(holders.own))
  const verbs = createOpenStore({ runner, indexes: store, retention, worker, report })
  let fileCheckedMs = -Infinity

  function checkFileNowAndThen(nowMs: number): void {
    if (Math.abs(nowMs - fileCheckedMs) < CHECK_FILE_EVERY_MS) return
    if (file.checkPath()) throw new MessagingWebhooksError('store_replaced')
    fileCheckedMs = nowMs
  }

  /** Most calls find nothing, and looking needs no transaction that writes. */
  function nothingDue({ limit, nowMs, exclude }: ClaimRequest): ReturnType<OpenStore['claim']> | undefined {
    const { keys, nextDueMs } = records.due({ limit: Math.min(limit, 1), nowMs, exclude })
    return keys.length > 0 ? undefined : { claims: [], nextDueMs }
  }

  const engine: Engine = {
    ...verbs,
    latestNowMs: database.latestNowMs,
    admit(events, nowMs) {
      checkFileNowAndThen(nowMs)
      return events.length === 0 ? [] : transaction(true, nowMs, () => verbs.admit(events, nowMs))
    },
    admitAndClaim(events, request) {
      const { nowMs } = request
      checkFileNowAndThen(nowMs)
      if (events.length === 0) return { admissions: [], tokens: [] }
      return transaction(true, nowMs, () => leasedOf(events, verbs.admitAndClaim(events, request)))
    },
    claim: (request) => nothingDue(request) ?? transaction(false, request.nowMs, () => verbs.claim(request)),
    settle: (settlements, nowMs) => transaction(false, nowMs, () => verbs.settle(settlements, nowMs)),
    resolve: (id, resolution, nowMs) => transaction(true, nowMs, () => verbs.resolve(id, resolution, nowMs)),
    expect: (messages, nowMs) => transaction(true, nowMs, () => verbs.expect(messages, nowMs)),
    admitOverdue: (events, nowMs) => transaction(true, nowMs, () => verbs.admitOverdue(events, nowMs)),
    awaitNoMore: (ended, nowMs) => transaction(true, nowMs, () => verbs.awaitNoMore(ended, nowMs)),
    prune: (nowMs) => transaction(false, nowMs, () => verbs.prune(nowMs)),
    forget: (request, nowMs) => transaction(true, nowMs, () => verbs.forget(request, nowMs)),
    eraseTraces() {
      // Older versions of a row are left in the free room of pages, even with `secure_delete`, where a page was split.
      try {
        db.exec('VACUUM')
        db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch (error) {
        throw asOurs(error)
      }
    },
    takeBack: (places, nowMs) =>
      transaction(false, nowMs, () => {
        const lost = new Set(places.map(({ id }) => id))
        const keys = [...new Set(places.map(({ key }) => key))]
        void runner.run(keys.map((key) => ({ key, decide: (record) => takeBack(record, ({ id }) => lost.has(id)) })))
      }),
    hold: holders.hold,
    takeBackAllBut: holders.takeBackAllBut,
    listedHolders: holders.listed,
    close() {
      try {
        if (!file.isReplaced) holders.letGo()
      } finally {
        db.close()
      }
    },
  }
  return { engine, holders }
}

function leasedOf(
  events: readonly NewEvent[],
  answered: ReturnType<NonNullable<OpenStore['admitAndClaim']>>,
): AdmittedAndLeased {
  if (answered instanceof Promise) throw new TypeError('A local store answers at once.')
  const { admissions, claims } = answered
  const byId = new Map(claims.map((claim) => [claim.id, claim]))
  const tokens = events.map(({ id }) => byId.get(id)?.token ?? NO_LEASE)
  if (!claims.some(({ expected }) => expected !== undefined)) return { admissions, tokens }
  return { admissions, tokens, expected: events.map(({ id }) => byId.get(id)?.expected) }
}
