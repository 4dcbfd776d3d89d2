/** Checks the promises at each call of the store, each handler, each answer, and at the end. */
import { isDeepStrictEqual } from 'node:util'
import type { WebhookEvent } from '../../src/public/events.ts'
import type { Admitted, AnswerOf, Command, Granted, Settle, Settled } from '../../src/messages/commands.ts'
import { mergeLatest, type MessageLatest } from '../../src/messages/order.ts'
import { latestOf } from '../../src/messages/views.ts'
import type { MessageStore } from '../../src/inbox/store.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
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

/** An event in a store. */
interface Known {
  readonly event: NewEvent
  state: 'waiting' | 'dead' | 'settled'
  late: boolean
  replay: boolean
  wasDispatched: boolean
  /** Fencing token of the last attempt. 0 if nothing can settle it. */
  token: number
  /** The process of the last attempt. */
  holder: string
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
  /** The store as a process has it, with each answer checked when the store gives it. */
  watched(store: MessageStore, process: string): MessageStore
  deadIds(): readonly { readonly key: string; readonly id: string }[]
  /** `idealMs`: the latest time that any clock may show. Returns a function that ends the run. */
  started(process: string, lease: Leasehold, event: WebhookEvent, idealMs: number): (ok: boolean) => void
  /** Handlers that do not end in time are released by the process; from then on they hold no event. */
  closes(process: string): void
  /** Nothing runs in this process any more. */
  died(process: string): void
  /** An event offered to the store without its meaning does not change the state of its message. */
  stripped(id: string): void
  /** Called when no work is left. */
  checkEnd(store: MessageStore): Promise<void>
}

/** The lease under which an event was dispatched. */
export interface Leasehold {
  readonly messageKey: string
  readonly granted: Granted
  readonly leaseUntilMs: number
}

/** Time and rank of a report: reports that are equal in both have no order. */
function timeAndRankOf(order: string): string {
  return order.slice(0, 13)
}

export function createLedger(): Ledger {
  const known = new Map<string, Known>()
  const acceptedEvents = new Map<string, AcceptedCallback>()
  const succeeded = new Set<string>()
  const strippedIds = new Set<string>()
  const dispatchedInOrder = new Map<string, string[]>()
  const runs = new Set<Run>()
  const offered = new Map<string, Callback[]>()
  const closing = new Set<string>()
  const dead = new Set<string>()
  let broken: Broken | undefined

  function breaks(promise: string, detail: string): void {
    broken ??= new Broken(promise, detail)
  }

  function same(promise: string, actual: unknown, expected: unknown): void {
    if (!isDeepStrictEqual(actual, expected))
      breaks(promise, `is ${JSON.stringify(actual)}, must be ${JSON.stringify(expected)}`)
  }

  function givenBack(id: string): void {
    for (const run of runs) if (run.id === id && closing.has(run.process)) runs.delete(run)
  }

  const ofMessage = (key: string): readonly Known[] =>
    [...known.values()].filter(({ event }) => event.messageKey === key)
  const count = (state: Known['state']): number => [...known.values()].filter((one) => one.state === state).length

  function isOvertaken({ messageKey, order }: NewEvent): boolean {
    return ofMessage(messageKey).some(
      ({ event, wasDispatched }) => wasDispatched && timeAndRankOf(order) < timeAndRankOf(event.order),
    )
  }

  function admitted(event: NewEvent, { admission, granted }: Admitted, process: string): void {
    if (admission === 'full') return
    const late = event.order !== '' && isOvertaken(event)
    const expected = known.has(event.id) ? 'duplicate' : late ? 'late' : 'new'
    same('an event is admitted once, and marked late if it is', admission, expected)
    if (admission !== 'duplicate')
      known.set(event.id, { event, state: 'waiting', late, replay: false, wasDispatched: false, token: 0, holder: '' })
    if (granted !== undefined) leased(event.messageKey, granted, process)
  }

  function leased(key: string, { id, token, late, replay }: Granted, process: string): void {
    const waiting = ofMessage(key).filter(({ state }) => state === 'waiting')
    const one = waiting.find(({ event }) => event.id === id)
    if (one === undefined) {
      breaks('only events that wait are leased', id)
      return
    }
    const first = waiting.every(({ event }) => event.order >= one.event.order)
    same(
      'the first event of a message is leased, as it is',
      { first, late, replay },
      { first: true, late: one.late, replay: one.replay },
    )
    if (ofMessage(key).some((other) => other.token >= token)) breaks('a token is given out once', id)
    Object.assign(one, { token, holder: process, wasDispatched: true })
  }

  function settled(settlement: Settle, { held }: Settled): void {
    const { id, token, outcome } = settlement
    const one = known.get(id)
    const isHolder = one?.state === 'waiting' && token !== 0 && one.token === token
    // The lease of a dead process may have been released.
    if (!(isHolder && dead.has(one.holder))) same('only the lease holder settles', held, isHolder)
    if (!held || one === undefined) return
    if (outcome === 'done') {
      if (!succeeded.has(id)) breaks('only dispatched events are settled', id)
      one.state = 'settled'
    } else if (outcome === 'dead') one.state = 'dead'
    else if (outcome === 'release') one.token = 0
    else givenBack(id)
  }

  function resolved(id: string, found: boolean): void {
    const one = known.get(id)
    same('a dead letter can be replayed', found, one?.state === 'dead')
    if (one === undefined || !found) return
    const late = one.late || (one.event.order !== '' && isOvertaken(one.event))
    Object.assign(one, { state: 'waiting', replay: true, token: 0, late })
  }

  function ran(command: Command, answer: AnswerOf<Command>, process: string): void {
    if (command.do === 'admit') admitted(command.event, answer as Admitted, process)
    else if (command.do === 'lease') {
      const granted = answer as Granted | undefined
      if (granted !== undefined) leased(command.key, granted, process)
    } else if (command.do === 'settle') settled(command, answer as Settled)
    else if (command.do === 'resolve') resolved(command.id, answer === true)
  }

  function saw<C extends Command>(commands: readonly C[], answers: readonly AnswerOf<C>[], process: string) {
    // Each answer is that of the command at its place.
    for (const [index, command] of commands.entries()) if (broken === undefined) ran(command, answers[index], process)
    return answers
  }

  return {
    get broken() {
      return broken
    },
    get unsettled() {
      return count('waiting')
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
      const all = offered.get(event.messageKey) ?? []
      if (!all.some((one) => sameAs(one) === sameAs(callback))) offered.set(event.messageKey, [...all, callback])
    },
    watched: (store, process) => ({
      ...store,
      run(commands) {
        const answers = store.run(commands)
        return answers instanceof Promise
          ? answers.then((given) => saw(commands, given, process))
          : saw(commands, answers, process)
      },
    }),
    deadIds: () =>
      [...known.values()].flatMap(({ event: { messageKey: key, id }, state }) =>
        state === 'dead' ? [{ key, id }] : [],
      ),
    started(process, { messageKey, granted, leaseUntilMs }, event, idealMs) {
      const { id } = granted
      const isLive = idealMs < leaseUntilMs
      for (const run of runs) {
        if (run.messageKey !== messageKey) continue
        if (run.process === process || (isLive && idealMs < run.leaseUntilMs))
          breaks('one event of a message at a time', `${id} in ${process} while ${run.id} runs in ${run.process}`)
      }
      const admitted = known.get(id)?.event
      if (admitted === undefined) breaks('only admitted events are dispatched', id)
      else if (event.type !== 'late' && !granted.replay && isLive && admitted.order !== '') {
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
      dead.add(process)
      for (const run of runs) if (run.process === process) runs.delete(run)
    },
    stripped: (id) => void strippedIds.add(id),
    async checkEnd(store) {
      for (const { event, callback } of acceptedEvents.values()) {
        const one = known.get(event.id)
        if (one === undefined) breaks('no accepted callback is lost', `${sameAs(callback)} never reached the store`)
        else if (!succeeded.has(event.id) && one.state !== 'dead')
          breaks('no accepted callback is lost', `${sameAs(callback)} was never dispatched`)
      }
      same('the counts are right', await store.counts(), { unsettled: count('waiting'), deadLetters: count('dead') })
      for (const [messageKey, callbacks] of offered) await checkLatest(store, messageKey, callbacks)
      const listed: string[] = []
      for (let after: string | undefined; ;) {
        const page = await store.scan({ of: 'deadLetters', after, limit: 3 })
        listed.push(...page.items.map(({ id }) => id))
        after = page.next
        if (after === undefined) break
      }
      const letters = [...known.values()].flatMap(({ event, state }) => (state === 'dead' ? [event.id] : []))
      same('the dead letters are listed', listed.toSorted(), letters.toSorted())
    },
  }

  async function checkLatest(store: MessageStore, messageKey: string, callbacks: readonly Callback[]): Promise<void> {
    const [record] = await store.run([{ do: 'read', key: messageKey }])
    const stored = record && latestOf(record)
    let expected: MessageLatest | undefined
    for (const { event } of ofMessage(messageKey)) if (event.order !== '') expected = mergeLatest(expected, event)
    same('the newest state is the merge of all reports', stored?.record.report, expected?.record.report)
    same(
      'the final reports are kept',
      stored?.finals.map(({ report }) => report),
      expected?.finals.map(({ record: of }) => of.report),
    )
    if (expected === undefined) return
    // The same, worked out by hand. A refused callback may still have been stored, so the ledger decides.
    const isPlain = ofMessage(messageKey).every(({ event }) => acceptedEvents.has(event.id))
    const isWhole = callbacks.every((callback) => {
      const found = [...acceptedEvents.values()].find(({ callback: other }) => sameAs(other) === sameAs(callback))
      return found !== undefined && !strippedIds.has(found.event.id)
    })
    const status = stored?.record.report?.status
    if (isPlain && isWhole && (status === undefined || !newestWords(callbacks).has(status)))
      breaks('the newest state is that of the latest report', `${messageKey} is ${String(status)}`)
  }
}
