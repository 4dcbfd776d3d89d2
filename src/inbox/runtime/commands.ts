/**
 * Decisions about records as commands: the store reads a record, the command decides, and the store writes the result. Contains
 * the commands that admit and settle events, and the runner of local stores.
 */
import { resolve } from '../../messages/replay.ts'
import { admitAndLease, release, settle, type Leased } from '../../messages/events.ts'
import type { Retention } from '../../messages/retention.ts'
import type { Decision, Lease, MessageRecord } from '../../messages/record.ts'
import type { EventPlace, Indexes, LocalStore } from '../record-store.ts'
import type {
  Admission,
  AdmittedAndClaimed,
  Awaitable,
  Claim,
  ClaimRequest,
  NewEvent,
  OpenStore,
  Settlement,
} from '../store.ts'
import { expectedOf, latestOf } from './answers.ts'

/** A decision about one record. */
export interface Command<A> {
  readonly key: string
  readonly decide: (record: MessageRecord | undefined) => Decision<A>
  /** The event that the command admits if it changes the record, the time, and the answer if the store is full. */
  readonly admits?: { readonly event: NewEvent; readonly nowMs: number; readonly full: A }
}

/** A lease of an event in the record with this key. */
export interface GrantedLease extends EventPlace {
  readonly lease: Lease
}

export interface Runner {
  /**
   * Answers in the order of the commands. Commands with the same key are applied in order. If it rejects, a shared store may have
   * applied some of them; the caller of a local store rolls back.
   */
  run<A>(commands: readonly Command<A>[]): Awaitable<readonly A[]>
  /** Removes records for which `isGone` is still true. */
  remove(keys: readonly string[], isGone: (record: MessageRecord) => boolean): Awaitable<void>
  /** Gives up leases that no handler will get, because a later step failed. A local store rolls back instead. */
  abandon?(leases: readonly GrantedLease[]): void
}

const NO_PAYLOADS: readonly never[] = []

/** The runner of local stores answers synchronously. */
export function createLocalRunner(store: LocalStore): Runner {
  return {
    run(commands) {
      return commands.map(({ key, decide, admits }) => {
        const before = store.read(key, admits?.nowMs)
        const { answer, record, payloads = NO_PAYLOADS } = decide(before)
        if (record === undefined) return answer
        const isAdmitted = admits !== undefined && hasMore(before, record)
        if (isAdmitted && !store.hasCapacity(admits.event)) return admits.full
        store.write({ key, before, after: record, payloads, admitted: isAdmitted ? admits.event : undefined })
        return answer
      })
    },
    remove(keys, isGone) {
      for (const key of keys) {
        const before = store.read(key)
        if (before !== undefined && isGone(before))
          store.write({ key, before, after: undefined, payloads: [], admitted: undefined })
      }
    },
  }
}

/** Whether the command added an event, waiting or dead. */
export function hasMore(before: MessageRecord | undefined, { waiting, dead }: MessageRecord): boolean {
  return waiting.length + dead.length > (before === undefined ? 0 : before.waiting.length + before.dead.length)
}

/** Continues with a value, immediately or later. A local store answers immediately, which keeps promises off the hot path. */
export function andThen<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Calls `then` if the promise rejects, and rejects with the same error. */
export function ifFails<T>(value: Awaitable<T>, then: () => void): Awaitable<T> {
  if (!(value instanceof Promise)) return value
  return value.catch((error: unknown) => {
    then()
    throw error
  })
}

type Verbs = Pick<OpenStore, 'admit' | 'settle' | 'resolve' | 'latest'> & Required<Pick<OpenStore, 'admitAndClaim'>>

interface EventsOptions {
  readonly runner: Runner
  readonly indexes: Indexes
  readonly retention: Retention
  readonly worker?: ((recordKey: string) => string | undefined) | undefined
}

/** Result of admitting an event with a lease. */
interface AdmittedAndLeased {
  readonly admitted: Admission
  readonly leased: Leased | undefined
}

const NO_KEYS: ReadonlySet<string> = new Set()

const FULL: AdmittedAndLeased = { admitted: 'full', leased: undefined }

export function createEventVerbs(options: EventsOptions): Verbs {
  const { runner, indexes, retention, worker } = options
  const { dedupeMs } = retention

  function admitAndClaim(
    events: readonly NewEvent[],
    { limit, nowMs, leaseUntilMs, exclude }: ClaimRequest,
  ): Awaitable<AdmittedAndClaimed> {
    // Do not lease these: a later event of the same message may be ordered first.
    const repeated = events.length > 1 ? repeatedKeys(events) : NO_KEYS
    let left = limit
    const commands = events.map((event): Command<AdmittedAndLeased> => {
      const { messageKey: key } = event
      const isLeasable = left > 0 && !exclude.has(key) && !repeated.has(key)
      if (isLeasable) left -= 1
      return {
        key,
        decide(record) {
          const name = isLeasable ? (worker === undefined ? '' : worker(key)) : undefined
          const request = name === undefined ? undefined : { nowMs, untilMs: leaseUntilMs, worker: name }
          return admitAndLease(record, event, nowMs, { dedupeMs, request })
        },
        admits: { event, nowMs, full: FULL },
      }
    })
    return andThen(runner.run(commands), (answers) => {
      const claims = answers.flatMap(({ leased }, index) => {
        const event = events[index]
        return leased === undefined || event === undefined ? [] : [claimOf(event.messageKey, leased, event)]
      })
      return { admissions: answers.map(({ admitted }) => admitted), claims }
    })
  }

  return {
    admit: (events, nowMs) =>
      andThen(
        admitAndClaim(events, { limit: 0, nowMs, leaseUntilMs: nowMs, exclude: NO_KEYS }),
        ({ admissions }) => admissions,
      ),
    admitAndClaim,
    settle: (settlements, nowMs) => runner.run(settlements.map((settlement) => settlementCommand(settlement, nowMs))),
    resolve: (id, resolution, nowMs) =>
      andThen(indexes.keyOfDeadLetter(id), (key) => {
        if (key === undefined) return false
        const command: Command<boolean> = { key, decide: (record) => resolve(record, id, resolution, nowMs) }
        return andThen(runner.run([command]), ([isResolved]) => isResolved === true)
      }),
    latest: (messageKey) => andThen(runner.run([reading(messageKey)]), ([record]) => record && latestOf(record)),
  }
}

export function settlementCommand(settlement: Settlement, nowMs: number): Command<boolean> {
  const decide: Command<boolean>['decide'] = (record) => settle(record, settlement, nowMs)
  return { key: settlement.messageKey, decide }
}

/** Ends the lease of a dead worker. */
export function releaseCommand(key: string, worker: string): Command<boolean> {
  return { key, decide: (record) => release(record, worker) }
}

export function reading(key: string): Command<MessageRecord | undefined> {
  return { key, decide: (record) => ({ answer: record }) }
}

function repeatedKeys(events: readonly NewEvent[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const { messageKey } of events) (seen.has(messageKey) ? repeated : seen).add(messageKey)
  return repeated
}

export function claimOf(
  messageKey: string,
  { entry, send }: Leased,
  { record, raw }: Pick<NewEvent, 'record' | 'raw'>,
): Claim {
  const { id, token, attempts, late, replay } = entry
  const claim = { id, messageKey, token, attempt: attempts, late, replay, record, raw }
  return send === undefined ? claim : { ...claim, expected: expectedOf(send) }
}
