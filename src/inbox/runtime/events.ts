/** Admission, leases and settlements of events, as commands. */
import { MessagingWebhooksError } from '../../errors.ts'
import { admit, admitOverflow, type Admitted } from '../../messages/admit.ts'
import { resolve } from '../../messages/dead-letters.ts'
import { lease, settle, type LeaseRequest } from '../../messages/deliver.ts'
import {
  changed,
  unchanged,
  type Decision,
  type Entry,
  type MessageRecord,
  type SendEntry,
} from '../../messages/record.ts'
import type { EventPlace, Indexes, Payload } from '../record-store.ts'
import type { Admission, Awaitable, Claim, NewEvent, OpenStore, Settlement } from '../store.ts'
import { andThen } from './and-then.ts'
import { claimOf, latestOf } from './answers.ts'
import type { Command, Runner } from './runner.ts'

type Verbs = Pick<OpenStore, 'admit' | 'claim' | 'settle' | 'resolve' | 'latest'> &
  Required<Pick<OpenStore, 'admitAndClaim'>>

interface EventsOptions {
  readonly runner: Runner
  readonly indexes: Indexes
  /** Named in leases. */
  readonly worker: () => string
  readonly report: (error: MessagingWebhooksError) => void
}

/** What an admission with a lease answers. */
interface AdmittedAndLeased {
  readonly admitted: Admitted | 'full'
  readonly leased: Leased | undefined
}

/** A lease, with what was sent. */
interface Leased {
  readonly entry: Entry
  readonly send: SendEntry | undefined
}

/** What is due and could not be leased is tried again. */
const TRY_AGAIN_MS = 1_000

const NONE_LIKELY: readonly never[] = []
const NO_PAYLOADS: readonly never[] = []

const NONE_TRIED: ReadonlySet<string> = new Set()

const FULL: AdmittedAndLeased = { admitted: 'full', leased: undefined }

export function createEventVerbs({ runner, indexes, worker, report }: EventsOptions): Verbs {
  function admission(event: NewEvent, nowMs: number, leaseUntilMs: number | undefined): Command<AdmittedAndLeased> {
    return {
      key: event.messageKey,
      decide(record) {
        const decided = admit(record, event, nowMs)
        const { answer: admitted, record: next } = decided
        const isKept = admitted === 'new' || admitted === 'late'
        if (leaseUntilMs === undefined || !isKept || next?.lease !== undefined)
          return { ...decided, answer: { admitted, leased: undefined } }
        // Another event of the message may be the first.
        if (next?.waiting[0]?.id !== event.id) return { ...decided, answer: { admitted, leased: undefined } }
        const leased = lease(next, { nowMs, untilMs: leaseUntilMs, worker: worker() })
        const after = leased.record ?? next
        return changed({ admitted, leased: leased.answer && { entry: leased.answer, send: after.send } }, after)
      },
      admits: { event, full: FULL },
    }
  }

  /** An event that its message has no room for becomes a record of its own. */
  function overflow(event: NewEvent, late: boolean, nowMs: number): Command<AdmittedAndLeased> {
    const of = event.messageKey
    return {
      key: event.id,
      decide(record) {
        const decided = admitOverflow(record, { of, late }, event, nowMs)
        return { ...decided, answer: { admitted: decided.answer, leased: undefined } }
      },
      admits: { event, full: FULL },
    }
  }

  function admitAll(
    events: readonly NewEvent[],
    nowMs: number,
    leaseUntilMsOf: (index: number) => number | undefined,
  ): Awaitable<readonly AdmittedAndLeased[]> {
    const commands = events.map((event, index) => admission(event, nowMs, leaseUntilMsOf(index)))
    return andThen(runner.run(commands), (answers) => {
      const overflowed = answers.flatMap(({ admitted }, index) => {
        const event = events[index]
        const isOver = admitted === 'overflow' || admitted === 'late overflow'
        return event !== undefined && isOver
          ? [{ index, command: overflow(event, admitted !== 'overflow', nowMs) }]
          : []
      })
      if (overflowed.length === 0) return answers
      return andThen(runner.run(overflowed.map(({ command }) => command)), (others) =>
        answers.map((answer, index) => others[overflowed.findIndex((one) => one.index === index)] ?? answer),
      )
    })
  }

  function leaseAll(
    keys: readonly string[],
    request: LeaseRequest,
    likely: readonly EventPlace[] = NONE_LIKELY,
  ): Awaitable<readonly Claim[]> {
    // Of an event that is leased afterwards nobody has erased the payload meanwhile.
    const early = likely.length === 0 ? NO_PAYLOADS : indexes.payloads(likely)
    // Where the lease cannot be written, nobody waits for it.
    if (early instanceof Promise) early.catch(() => {})
    return andThen(runner.run(keys.map((key) => leaseCommand(key, request))), (answers) => {
      const leased = answers.flatMap((one, index) => {
        const key = keys[index]
        return one === undefined || key === undefined ? [] : [{ ...one, key, id: one.entry.id }]
      })
      return andThen(early, (known) =>
        andThen(payloadsOf(leased, likely, known), (payloads) => {
          const claims: Claim[] = []
          const unusable: Command<boolean>[] = []
          for (const [index, one] of leased.entries()) {
            const payload = payloads[index]
            if (payload !== undefined && payload.corrupt === undefined) claims.push(claimOf(one.key, one, payload))
            else unusable.push(setAside(one.key, one.entry, payload?.corrupt, request.nowMs))
          }
          return unusable.length === 0 ? claims : andThen(runner.run(unusable), () => claims)
        }),
      )
    })
  }

  /** Those that are known already, and the others. */
  function payloadsOf(
    leased: readonly EventPlace[],
    likely: readonly EventPlace[],
    known: readonly (Payload | undefined)[],
  ): Awaitable<readonly (Payload | undefined)[]> {
    if (likely.length === 0) return indexes.payloads(leased)
    const byId = new Map(likely.map(({ id }, index) => [id, known[index]]))
    const missing = leased.filter(({ id }) => byId.get(id) === undefined)
    if (missing.length === 0) return leased.map(({ id }) => byId.get(id))
    return andThen(indexes.payloads(missing), (others) => {
      for (const [index, { id }] of missing.entries()) byId.set(id, others[index])
      return leased.map(({ id }) => byId.get(id))
    })
  }

  /** An event whose payload cannot be read becomes a dead letter; one whose payload is gone has nothing left to keep. */
  function setAside(key: string, { id, token }: Entry, corrupt: string | undefined, nowMs: number): Command<boolean> {
    const error = new MessagingWebhooksError('event_damaged', `It is ${corrupt ?? 'payloads'} of event ${id}.`)
    report(error)
    const outcome =
      corrupt === undefined ? ({ outcome: 'done' } as const) : ({ outcome: 'dead', error: error.message } as const)
    return { key, decide: (record) => settle(record, { id, token, ...outcome }, nowMs) }
  }

  return {
    admit: (events, nowMs) =>
      andThen(
        admitAll(events, nowMs, () => undefined),
        (answers) => answers.map(admissionOf),
      ),
    admitAndClaim(events, { limit, nowMs, leaseUntilMs, exclude }) {
      const isLeasable = leasableOf(events, limit, exclude)
      const answered = admitAll(events, nowMs, (index) => (isLeasable(index) ? leaseUntilMs : undefined))
      return andThen(answered, (answers) => {
        const claims: Claim[] = []
        for (const [index, { leased }] of answers.entries()) {
          const event = events[index]
          if (leased !== undefined && event !== undefined) claims.push(claimOf(event.messageKey, leased, event))
        }
        return { admissions: answers.map(admissionOf), claims }
      })
    },
    claim({ limit, nowMs, leaseUntilMs, exclude }) {
      const claims: Claim[] = []
      function claimMore(tried: ReadonlySet<string>): ReturnType<OpenStore['claim']> {
        const most = limit - claims.length
        return andThen(indexes.due({ limit: most, nowMs, exclude }), ({ keys, nextDueMs, likely }) => {
          // Each is tried once: a record that cannot be leased must not keep this from its end.
          const left = keys.filter((key) => !tried.has(key))
          if (left.length === 0) {
            const triedUntilMs = keys.length > 0 ? nowMs + TRY_AGAIN_MS : undefined
            const heldUntilMs = claims.length > 0 ? leaseUntilMs : undefined
            return { claims, nextDueMs: earlier(earlier(nextDueMs, triedUntilMs), heldUntilMs) }
          }
          return andThen(leaseAll(left, { nowMs, untilMs: leaseUntilMs, worker: worker() }, likely), (leased) => {
            claims.push(...leased)
            // Where all that was due is leased, nothing else is due; else another one may have made room.
            const isAll = keys.length < most && leased.length === keys.length
            if (claims.length < limit && !isAll) return claimMore(new Set([...tried, ...left]))
            return { claims, nextDueMs: earlier(nextDueMs, leaseUntilMs) }
          })
        })
      }
      return claimMore(NONE_TRIED)
    },
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

function leaseCommand(key: string, request: LeaseRequest): Command<Leased | undefined> {
  return {
    key,
    decide(record): Decision<Leased | undefined> {
      const { answer, ...decided } = lease(record, request)
      return { ...decided, answer: answer && { entry: answer, send: record?.send } }
    },
  }
}

export function settlementCommand(settlement: Settlement, nowMs: number): Command<boolean> {
  return { key: settlement.messageKey, decide: (record) => settle(record, settlement, nowMs) }
}

/** Changes nothing, and answers the record. */
export function reading(key: string): Command<MessageRecord | undefined> {
  return { key, decide: (record) => unchanged(record) }
}

/** At most `limit` events, each the only one of its message in the batch: of several, a later one may belong first. */
function leasableOf(
  events: readonly NewEvent[],
  limit: number,
  exclude: ReadonlySet<string>,
): (index: number) => boolean {
  const [only] = events
  if (only !== undefined && events.length === 1) return () => limit > 0 && !exclude.has(only.messageKey)
  const counts = new Map<string, number>()
  for (const { messageKey } of events) counts.set(messageKey, (counts.get(messageKey) ?? 0) + 1)
  const leasable = new Set<number>()
  for (const [index, { messageKey }] of events.entries()) {
    if (leasable.size >= limit) break
    if (counts.get(messageKey) === 1 && !exclude.has(messageKey)) leasable.add(index)
  }
  return (index) => leasable.has(index)
}

function admissionOf({ admitted }: AdmittedAndLeased): Admission {
  // An overflow was admitted into a record of its own.
  if (admitted === 'overflow') return 'new'
  return admitted === 'late overflow' ? 'late' : admitted
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}
