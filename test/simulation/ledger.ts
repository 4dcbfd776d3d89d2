/** Checks the promises at each call of the store, each handler, each answer, and at the end. */
import { AssertionError } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import type { WebhookEvent } from '../../src/public/events.ts'
import type { Admission, Settle } from '../../src/messages/commands.ts'
import type { AdmittedAndClaimed, MessageStore, SettleFailed } from '../../src/inbox/store.ts'
import type { Claim, ClaimRequest, Claimed } from '../../src/dispatch/claim.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
import { createModel, timeAndRankOf } from '../../src/store-conformance/model.ts'
import { newestWords, sameAs, type Callback } from './callbacks.ts'

/** A broken promise. */
export class Broken extends Error {
  override readonly name = 'Broken'
  readonly promise: string
  constructor(promise: string, detail: string) {
    super(`${promise}: ${detail}`)
    this.promise = promise
  }
}

/** Handlers that run, or hang, in one process. */
interface Run {
  readonly id: string
  readonly messageKey: string
  readonly process: string
  readonly leaseUntilMs: number
}

interface AcceptedCallback {
  readonly callback: Callback
  readonly event: NewEvent
}

export interface Ledger {
  /** The first broken promise. */
  readonly broken: Broken | undefined
  /** Events that wait in a store. */
  readonly unsettled: number
  readonly acceptedCount: number
  readonly handledCount: number
  breaks(promise: string, detail: string): void
  /** The callback was answered as accepted. */
  accepted(callback: Callback, event: NewEvent): void
  admitted(events: readonly NewEvent[], nowMs: number, admissions: readonly Admission[]): void
  claimed(request: ClaimRequest, result: Claimed): void
  admittedAndClaimed(events: readonly NewEvent[], request: ClaimRequest, result: AdmittedAndClaimed): void
  settled(settlements: readonly Settle[], nowMs: number, answers: readonly (boolean | SettleFailed)[]): void
  replayed(id: string, nowMs: number, found: boolean): void
  deadIds(): readonly string[]
  /** `idealMs`: the latest time that any clock may show. Returns a function that ends the run. */
  started(
    process: string,
    claim: Claim,
    leaseUntilMs: number,
    event: WebhookEvent,
    idealMs: number,
  ): (ok: boolean) => void
  /** Handlers that do not end in time are released by the process; from then on they hold no event. */
  closes(process: string): void
  /** Nothing runs in this process any more. */
  died(process: string): void
  /** An event offered to the store without its meaning does not change the state of its message. */
  stripped(id: string): void
  /** Called when no work is left. */
  checkEnd(store: MessageStore): Promise<void>
}

export function createLedger(): Ledger {
  const model = createModel()
  const acceptedEvents = new Map<string, AcceptedCallback>()
  const ofModel = new Map<string, NewEvent>()
  const succeeded = new Set<string>()
  const strippedIds = new Set<string>()
  const dispatchedInOrder = new Map<string, string[]>()
  const runs = new Set<Run>()
  const offered = new Map<string, Callback[]>()
  const closing = new Set<string>()
  let broken: Broken | undefined

  function breaks(promise: string, detail: string): void {
    broken ??= new Broken(promise, detail)
  }

  function modelled(work: () => void): void {
    if (broken !== undefined) return
    try {
      work()
    } catch (error) {
      if (!isEarlyLook(error))
        breaks('the store keeps its contract', error instanceof Error ? error.message : String(error))
    }
  }

  function same(promise: string, actual: unknown, expected: unknown): void {
    if (!isDeepStrictEqual(actual, expected))
      breaks(promise, `is ${JSON.stringify(actual)}, must be ${JSON.stringify(expected)}`)
  }

  function remember(events: readonly NewEvent[]): void {
    for (const event of events) if (!ofModel.has(event.id)) ofModel.set(event.id, event)
  }

  function givenBack(id: string): void {
    for (const run of runs) if (run.id === id && closing.has(run.process)) runs.delete(run)
  }

  return {
    get broken() {
      return broken
    },
    get unsettled() {
      return model.unsettled()
    },
    get acceptedCount() {
      return acceptedEvents.size
    },
    get handledCount() {
      return succeeded.size
    },
    breaks,
    accepted(callback, event) {
      acceptedEvents.set(event.id, { callback, event })
      const known = offered.get(event.messageKey) ?? []
      if (!known.some((one) => sameAs(one) === sameAs(callback))) offered.set(event.messageKey, [...known, callback])
    },
    admitted: (events, nowMs, admissions) =>
      modelled(() => {
        remember(events)
        same('an event is admitted once, and marked late if it is', admissions, model.admit(events, nowMs))
      }),
    claimed: (request, result) => modelled(() => model.checkClaim(request, result)),
    admittedAndClaimed: (events, request, result) =>
      modelled(() => {
        remember(events)
        same(
          'an event is admitted once, and marked late if it is',
          result.admissions,
          model.admit(events, request.nowMs),
        )
        model.checkClaimOfAdmitted(events, request, result)
      }),
    settled: (settlements, nowMs, answers) =>
      modelled(() => {
        for (const [index, settlement] of settlements.entries()) {
          const expected = model.settle(settlement, nowMs)
          same('only the lease holder settles', answers[index], expected)
          if (expected && settlement.outcome === 'done' && !succeeded.has(settlement.id))
            breaks('only dispatched events are settled', settlement.id)
          if (expected && settlement.outcome === 'retry') givenBack(settlement.id)
        }
      }),
    replayed: (id, nowMs, found) =>
      modelled(() => same('a dead letter can be replayed', found, model.resolve(id, 'replay', nowMs))),
    deadIds: () => model.deadLetters().map(({ id }) => id),
    started(process, claim, leaseUntilMs, event, idealMs) {
      const { id, messageKey } = claim
      const isLive = idealMs < leaseUntilMs
      for (const run of runs) {
        if (run.messageKey !== messageKey) continue
        if (run.process === process || (isLive && idealMs < run.leaseUntilMs))
          breaks('one event of a message at a time', `${id} in ${process} while ${run.id} runs in ${run.process}`)
      }
      const admitted = ofModel.get(id)
      if (admitted === undefined) breaks('only admitted events are dispatched', id)
      else if (event.type !== 'late' && !claim.replay && isLive && admitted.order !== '') {
        const dispatched = dispatchedInOrder.get(messageKey) ?? []
        const newer = dispatched.find((order) => timeAndRankOf(admitted.order) < timeAndRankOf(order))
        if (newer !== undefined) breaks('no older event is dispatched after a newer one unless marked late', id)
        dispatchedInOrder.set(messageKey, [...dispatched, admitted.order])
      }
      const run: Run = { id, messageKey, process, leaseUntilMs }
      runs.add(run)
      return (ok) => {
        runs.delete(run)
        if (ok) succeeded.add(id)
      }
    },
    closes: (process) => void closing.add(process),
    died(process) {
      for (const run of runs) if (run.process === process) runs.delete(run)
    },
    stripped: (id) => void strippedIds.add(id),
    async checkEnd(store) {
      const dead = new Set(model.deadLetters().map(({ id }) => id))
      for (const { event, callback } of acceptedEvents.values()) {
        if (!ofModel.has(event.id))
          breaks('no accepted callback is lost', `${sameAs(callback)} never reached the store`)
        else if (!succeeded.has(event.id) && !dead.has(event.id))
          breaks('no accepted callback is lost', `${sameAs(callback)} was never dispatched`)
      }
      const counts = await store.counts()
      same('the counts are right', counts, { unsettled: model.unsettled(), deadLetters: dead.size })
      for (const [messageKey, callbacks] of offered) await checkLatest(store, messageKey, callbacks)
      const listed: string[] = []
      for (let after: string | undefined; ;) {
        const page = await store.deadLetters({ after, limit: 3 })
        listed.push(...page.items.map(({ id }) => id))
        after = page.next
        if (after === undefined) break
      }
      same('the dead letters are listed', listed.toSorted(), [...dead].toSorted())
    },
  }

  async function checkLatest(store: MessageStore, messageKey: string, callbacks: readonly Callback[]): Promise<void> {
    const stored = await store.latest(messageKey)
    const expected = model.latest(messageKey)
    if (expected === undefined) {
      if (stored !== undefined) breaks('the newest state is the merge of all reports', messageKey)
      return
    }
    const byOrder = new Map([...ofModel.values()].map((event) => [`${event.messageKey} ${event.order}`, event.record]))
    const recordOf = (order: string): unknown => byOrder.get(`${messageKey} ${order}`)?.report
    same('the newest state is the merge of all reports', stored?.record.report, recordOf(expected.newest))
    same(
      'the final reports are kept',
      stored?.finals.map(({ report }) => report),
      expected.finals.map(recordOf),
    )
    // The same, worked out by hand. A refused callback may still have been stored, so the model decides.
    const isPlain = [...ofModel.values()].every(
      (event) => event.messageKey !== messageKey || acceptedEvents.has(event.id),
    )
    const isWhole = callbacks.every((callback) => {
      const found = [...acceptedEvents.values()].find(({ callback: other }) => sameAs(other) === sameAs(callback))
      return found !== undefined && !strippedIds.has(found.event.id)
    })
    const status = stored?.record.report?.status
    if (isPlain && isWhole && (status === undefined || !newestWords(callbacks).has(status)))
      breaks('the newest state is that of the latest report', `${messageKey} is ${String(status)}`)
  }
}

/** A store may announce a due time too early: when a message's lease ends before its first event is due. */
function isEarlyLook(error: unknown): boolean {
  if (!(error instanceof AssertionError) || !error.message.startsWith('the moment when something will be due'))
    return false
  const { actual, expected } = error
  return typeof actual === 'number' && typeof expected === 'number' && actual < expected
}
