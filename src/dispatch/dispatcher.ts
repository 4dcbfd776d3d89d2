/** Delivery: claims what is due, runs its handlers, settles it. At least once, one event of a message at a time. */
import { type Clock, withDeadline } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'
import type { Absence } from '../inbox/absence.ts'
import {
  isKept,
  PAYLOAD,
  type Admission,
  type Awaitable,
  type Claim,
  type NewEvent,
  type OpenStore,
  type StoreCounts,
} from '../inbox/store.ts'
import type { LocalDispatch } from '../inbox/write.ts'
import type { AttemptOptions } from './attempt.ts'
import { type Leased, type Capacity, type Run, createLeased, createCapacity, createSemaphore } from './capacity.ts'
import { type Backlog, type ClaimLoop, createBacklog, createClaimLoop, createClaims } from './claim-loop.ts'
import { type Notifier, type Drain, createNotifier, createDrain, createNextAttempt } from './drain.ts'
import { createLease, createLeaseWatch } from './lease.ts'
import { createRun } from './run.ts'
import { type Life, createSettler, createStoreAway } from './settle.ts'

/** How long a receiver that closes waits, after its deadline, until the store has taken back what was not begun. */
const GIVE_BACK_MS = 500

interface DispatchOptions extends AttemptOptions {
  /** Messages whose handlers run at once. */
  readonly concurrency: number
  /** How long to wait for an answer of the store: a connection may fall silent. */
  readonly storeTimeoutMs: number
  /** Other processes may share the store. */
  readonly shared: boolean
  readonly absence: Absence
  readonly openStore: () => Promise<OpenStore<object>>
  /** Of the store, and of what is on its way there. */
  readonly counts: () => Awaitable<StoreCounts>
}

interface Dispatcher extends LocalDispatch {
  /** Opens the store and begins to hand over. */
  start(): Promise<void>
  /** Something may be due. */
  wake(): void
  /** A dead letter is due again, perhaps of a message that is in our hands. */
  wakeAfterReplay(): void
  /** Resolves when the next attempt of this event is over or none will be made, or after `timeoutMs`. */
  attempted(id: string, timeoutMs: number): Promise<void>
  readonly drain: Drain
  /** Hands nothing more over; waits for what runs, then aborts it. */
  stop(deadlineMs: number): Promise<void>
  readonly running: number
}

export function createDispatcher(options: DispatchOptions): Dispatcher {
  const { clock, concurrency, storeTimeoutMs, shared, report, counts } = options
  const life: Life = { opened: undefined, stopped: false, over: false }
  const notifier = createNotifier(clock)
  const nextAttempt = createNextAttempt(clock, notifier)
  const storeAway = createStoreAway(report, options.absence)
  const backlog = createBacklog(clock)
  const leased = createLeased()
  const lease = createLease(options)
  const watch = createLeaseWatch({ clock, shared, life, leased, report })
  const semaphore = createSemaphore(concurrency, clock)
  const capacity = createCapacity({ clock, concurrency, semaphore, leased, leaseUntilMs: lease.untilMs })
  const loop = createClaimLoop({
    clock,
    claim: () => claimDue(),
    failed(error) {
      backlog.unknown()
      storeAway.failed(error)
    },
    rested: notifier.tell,
  })
  const { run, giveBack } = createRun({
    ...options,
    life,
    lease,
    watch,
    leased,
    semaphore,
    capacity,
    backlog,
    loop,
    nextAttempt,
    storeAway,
  })
  const claimDue = createClaims({ clock, concurrency, storeTimeoutMs, life, leased, capacity, backlog, storeAway, run })

  function isLeased(id: string): boolean {
    return leased.works().some(({ claim }) => claim.id === id)
  }

  function wake(): void {
    if (life.opened !== undefined) loop.wake()
  }

  return {
    ...createLocalDispatch({ clock, life, leased, capacity, backlog, loop, notifier, run }),
    async start() {
      const store = await options.openStore()
      const settler = createSettler(store, { clock, storeTimeoutMs, isStopped: () => life.stopped })
      life.opened = { store, ...settler }
      loop.wake()
    },
    wake,
    wakeAfterReplay() {
      for (const work of leased.works()) work.isFollowed = true
      wake()
    },
    attempted(id, timeoutMs) {
      if (life.stopped && !isLeased(id)) return Promise.resolve()
      return nextAttempt.of(id, timeoutMs)
    },
    drain: createDrain({ clock, leased, loop, notifier, counts }),
    async stop(deadlineMs) {
      life.stopped = true
      loop.stop()
      // What is not in our hands now will not be attempted here any more.
      nextAttempt.noneBut(isLeased)
      const untilMs = clock.now() + deadlineMs
      // What a claim or an admission under way brings is leased already, so it runs.
      while ((leased.atWork > 0 || loop.claiming || capacity.isHeld) && clock.now() < untilMs)
        await notifier.next(untilMs - clock.now())
      life.over = true
      semaphore.forget()
      const works = leased.works()
      for (const { controller } of works) controller.abort(new MessagingWebhooksError('receiver_closed'))
      const unbegun = Promise.all(works.filter(({ isBegun }) => !isBegun).map(giveBack))
      // A store that does not answer lets their leases run out.
      await withDeadline(clock, GIVE_BACK_MS, unbegun, () => [])
    },
    get running() {
      return leased.atWork
    },
  }
}

interface LocalOptions {
  readonly clock: Clock
  readonly life: Readonly<Life>
  readonly leased: Leased
  readonly capacity: Capacity
  readonly backlog: Backlog
  readonly loop: ClaimLoop
  readonly notifier: Notifier
  readonly run: Run
}

/** What is admitted here and may run here: where there is room, under a lease of its own admission, else by a claim. */
function createLocalDispatch(options: LocalOptions): LocalDispatch {
  const { clock, life, leased, capacity, backlog, loop, notifier, run } = options

  /** A claim may have been turned away for the room that a request held. */
  function roomAgain(): void {
    if (backlog.mayBe) loop.wake()
  }

  /** What was admitted here without a lease is claimed at once, or when what runs of its message is over. */
  function claimRest(events: readonly NewEvent[], admissions: readonly Admission[], claims: readonly Claim[]): void {
    if (admissions.filter(isKept).length === claims.length) return
    const claimed = new Set(claims.map(({ id }) => id))
    for (const [index, event] of events.entries()) {
      if (!isKept(admissions[index]) || claimed.has(event.id) || follows(event)) continue
      if (event.awaits !== 0) backlog.gap(event.gapUntilMs)
      loop.wake()
    }
  }

  /** It has to wait for what is in our hands of its message. */
  function follows({ messageKey }: NewEvent): boolean {
    const work = leased.of(messageKey)
    if (work !== undefined) work.isFollowed = true
    return work !== undefined
  }

  return {
    room(events) {
      const { opened, stopped } = life
      // What waits goes before what comes.
      if (stopped || opened === undefined || backlog.goesFirst) return undefined
      const request = capacity.ask(opened.store, events.length, leased.messages(events))
      if (request !== undefined) capacity.hold(request)
      return request
    },
    release(request) {
      capacity.giveBack(request)
      // Its answer may be lost, and its leases held all the same.
      loop.wakeBy(request.leaseUntilMs)
      roomAgain()
      notifier.tell()
    },
    take(events, { admissions, claims }, request) {
      const { opened, stopped, over } = life
      if (opened === undefined) {
        forgetPayloads(events)
        return
      }
      if (request !== undefined) {
        // What comes too late is ours all the same, as with a claim.
        const isOurs = capacity.giveBack(request) ? !over : !stopped && clock.now() < request.leaseUntilMs
        if (isOurs) run('soon', claims, opened, request.leaseUntilMs, events)
        if (stopped) notifier.tell()
      }
      claimRest(events, admissions, claims)
      if (request !== undefined) roomAgain()
      forgetPayloads(events)
    },
  }
}

/** A store in memory keeps the events as they are, for as long as they wait. */
function forgetPayloads(events: readonly NewEvent[]): void {
  for (const event of events) event[PAYLOAD] = undefined
}
