/** Claims due events, runs their handlers and settles them: at least once, and one event of a message at a time. */
import { withDeadline, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { waitFor } from '../inbox/in-store-time.ts'
import type { AdmitBatch } from '../inbox/writing.ts'
import type { Awaitable, MessageStore } from '../inbox/store.ts'
import type { Admission, Admit, Admitted } from '../messages/commands.ts'
import { PAYLOAD, type NewEvent } from '../messages/event-record.ts'
import { claimOf, type Claim, type ClaimRequest } from './claim.ts'
import { createParts, type Parts } from './parts.ts'
import { begin, stop } from './run.ts'
import type { AttemptWatch, DispatchOptions, Meter } from './work.ts'

export function createDispatcher(options: DispatchOptions) {
  const phase = { isStopped: false, isOver: false }
  const observers: { meter: Meter | undefined; watch: AttemptWatch | undefined } = {
    meter: undefined,
    watch: undefined,
  }
  const parts: Parts = createParts(options, { phase, observers, begin: (work) => begin(parts, work) })
  const { waiting, slots, loop, leases, settlements } = parts

  return {
    start: (store: MessageStore<object>): void => loop.begin(settlements.into(store)),
    admit: createAdmit(parts),
    /** Claims soon, because something may be due. */
    wake: loop.wake,
    /** The token of the event of this message that this process has in flight. */
    tokenOf: slots.tokenOf,
    /** Notifies that leases of these messages may belong to another process now. */
    lose: leases.lose,
    /** Starts no further handlers for these events. Handlers that are running continue. */
    forget(isMeant: (event: Pick<Claim, 'id' | 'messageKey'>) => boolean): void {
      for (const work of slots.all()) {
        if (!isMeant(work.claim)) continue
        work.isForgotten = true
        parts.succeeded.delete(work.claim.id)
      }
      observers.watch?.forgotten(isMeant)
      loop.wake()
    },
    /** Claims a replayed dead letter soon, or after the event of its message that is in flight. */
    wakeAfterReplay(): void {
      for (const work of slots.all()) work.hasSuccessor = true
      loop.wake()
    },
    /**
     * Waits for the next attempt of an event. Call it before the admission, because the attempt may end before the admission has
     * answered. `answer: 'handled'` uses it.
     */
    watchAttempt(id: string, timeoutMs: number): ReturnType<typeof waiting.watchAttempt> {
      if (phase.isStopped && !slots.has(id)) return { over: Promise.resolve(), forget() {} }
      return waiting.watchAttempt(id, timeoutMs)
    },
    drain: createDrain(parts),
    /** Dispatches nothing more, waits for running handlers until the deadline, then aborts them. */
    stop: (deadlineMs: number): Promise<void> => stop(parts, phase, deadlineMs),
    get running(): number {
      return slots.running
    },
    progress: loop.progress,
    /** Reports durations to this meter from now on. */
    measure: (meter: Meter): void => void (observers.meter = meter),
    /** Reports each attempt to this watch from now on. Undefined ends it. */
    observe: (watch: AttemptWatch | undefined): void => void (observers.watch = watch),
  }
}

/**
 * Admits events and, while there is capacity, leases them in the same step. The claim loop claims the rest. Runs the events of
 * a late response too, as a claim does.
 */
function createAdmit(parts: Parts): AdmitBatch {
  const { clock, phase, observers, waiting, slots, loop } = parts
  return ({ store, events, deadline, mayLease }) => {
    // Drain the backlog before leasing new events.
    const isTurn = mayLease && loop.opened !== undefined && !phase.isStopped && !loop.hasBacklog
    const request = isTurn ? slots.reserveCapacity(store, events.length, events) : undefined
    const commands = commandsOf(events, request)
    const admit = () => store.run(commands)
    const leaseUntilMs = request && clock.now() + request.leaseForMs
    const failed = (error: unknown): never => {
      if (request !== undefined && leaseUntilMs !== undefined) release(parts, request, leaseUntilMs)
      throw error
    }
    let answer: Awaitable<readonly Admitted[]>
    try {
      answer = observers.meter === undefined ? admit() : observers.meter.timed('admit', admit)
    } catch (error) {
      return failed(error)
    }
    if (!(answer instanceof Promise)) return admitted(parts, events, answer, leaseUntilMs)
    if (request === undefined || leaseUntilMs === undefined)
      return waitFor(
        deadline,
        answer.then((answers) => admitted(parts, events, answers)),
      )
    slots.holdCapacity(request)
    const accepted = answer.then((answers) => {
      const isInTime = slots.releaseCapacity(request)
      const isOurs = isInTime ? !phase.isOver : !phase.isStopped && clock.now() < leaseUntilMs
      const admissions = admitted(parts, events, answers, isOurs ? leaseUntilMs : undefined)
      // A claim may have been skipped for lack of capacity.
      loop.wakeIfFull()
      if (phase.isStopped) waiting.changed()
      return admissions
    }, failed)
    return waitFor(deadline, accepted, () => release(parts, request, leaseUntilMs))
  }
}

/** Asks for leases up to the limit, of messages with one event in the batch: a later one might be ordered before it. */
function commandsOf(events: readonly NewEvent[], request: ClaimRequest | undefined): readonly Admit[] {
  let left = request?.limit ?? 0
  const repeated = left > 0 && events.length > 1 ? repeatedKeys(events) : NO_KEYS
  return events.map((event): Admit => {
    const { messageKey: key } = event
    if (request === undefined || left <= 0 || request.exclude.has(key) || repeated.has(key))
      return { do: 'admit', key, event }
    left -= 1
    return { do: 'admit', key, event, leaseForMs: request.leaseForMs }
  })
}

const NO_KEYS: ReadonlySet<string> = new Set()

function repeatedKeys(events: readonly NewEvent[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const { messageKey } of events) (seen.has(messageKey) ? repeated : seen).add(messageKey)
  return repeated
}

/** Releases the capacity of an admission that failed or timed out. */
function release({ slots, loop, waiting }: Parts, request: ClaimRequest, leaseUntilMs: number): void {
  slots.releaseCapacity(request)
  // The store may have granted the leases although its response was lost.
  loop.scheduleClaim(leaseUntilMs)
  loop.wakeIfFull()
  waiting.changed()
}

/** Runs leased events, after their callbacks are answered, if `leaseUntilMs` is given. The claim loop claims the rest. */
function admitted(
  parts: Parts,
  events: readonly NewEvent[],
  answers: readonly Admitted[],
  leaseUntilMs?: number,
): readonly Admission[] {
  const { slots, loop, report } = parts
  const { opened } = loop
  const rest: NewEvent[] = []
  const admissions: Admission[] = []
  for (const [index, event] of events.entries()) {
    const answer = answers[index]
    // An event without an answer was not admitted. The batch rejects it.
    if (answer === undefined) break
    const { admission, granted } = answer
    if (granted !== undefined) {
      if (opened !== undefined && leaseUntilMs !== undefined)
        slots.enterSoon(slots.track(claimOf(event.messageKey, granted, event), opened, leaseUntilMs, event[PAYLOAD]))
    } else if (admission === 'new' || admission === 'late') rest.push(event)
    else if (admission === 'crowded') report(new MessagingWebhooksError('message_crowded', `Event ${event.id}.`))
    // The memory store keeps event objects until they are settled, so release the parsed payload.
    event[PAYLOAD] = undefined
    admissions.push(admission)
  }
  for (const event of rest) leaveToClaim(parts, event)
  return admissions
}

/** Claims the event now, or when the event of its message that is in flight has ended. */
function leaveToClaim({ slots, loop, clock }: Parts, { messageKey, awaits, reorderWaitMs }: NewEvent): void {
  const before = slots.ofMessage(messageKey)
  if (before !== undefined) {
    before.hasSuccessor = true
    return
  }
  if (awaits !== 0) loop.sawGap(clock.now() + reorderWaitMs)
  loop.wake()
}

/** Settlements of other processes are not announced, so poll at this interval. */
const LOOK_MS = 50

/**
 * Resolves to true once everything is settled (except handlers that timed out, unless `waitForHung`), or to false at the
 * deadline. `unsettled` counts the unsettled events in the store and on the way there.
 */
function createDrain({ clock, slots, loop, waiting }: Parts) {
  return async (
    unsettled: () => Awaitable<number>,
    deadlineMs: number,
    { waitForHung = true }: { readonly waitForHung?: boolean } = {},
  ): Promise<boolean> => {
    const untilMs = clock.now() + deadlineMs
    for (;;) {
      // Counting a long backlog is expensive, so count only when nothing is in flight.
      const isIdle = slots.running === 0 && !loop.isClaiming
      const left = isIdle ? await counted(unsettled, clock, untilMs) : Infinity
      if (slots.running === 0 && left === 0) return true
      // Events with handlers that timed out hold no slots.
      if (!waitForHung && slots.running === 0 && left <= slots.all().length) return false
      const leftMs = untilMs - clock.now()
      if (leftMs <= 0) return false
      await waiting.nextChange(Math.min(LOOK_MS, leftMs))
    }
  }
}

/** Infinity while the store is unavailable. */
function counted(unsettled: () => Awaitable<number>, clock: Clock, untilMs: number): Awaitable<number> {
  try {
    const count = unsettled()
    if (!(count instanceof Promise)) return count
    const timeoutMs = Math.max(untilMs - clock.now(), LOOK_MS)
    return withDeadline(clock, timeoutMs, count, () => Infinity).catch(() => Infinity)
  } catch {
    return Infinity
  }
}
