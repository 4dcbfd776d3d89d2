/** Delivery: claims what is due, runs its handlers, settles it. At least once, one event of a message at a time. */
import { withDeadline } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'
import type { Absence } from '../inbox/absence.ts'
import type { Awaitable, OpenStore, StoreCounts } from '../inbox/store.ts'
import type { LocalDispatch } from '../inbox/write.ts'
import type { AttemptOptions } from './attempt.ts'
import { createBacklog } from './backlog.ts'
import { createChanges } from './changes.ts'
import { createClaimLoop } from './claim-loop.ts'
import { createClaims } from './claims.ts'
import { createDrain, type Drain } from './drain.ts'
import { createLease } from './lease.ts'
import { createLeaseWatch } from './lease-watch.ts'
import { createLeased } from './leased.ts'
import type { Life } from './life.ts'
import { createLocalDispatch } from './local.ts'
import { createNextAttempt } from './next-attempt.ts'
import { createRoom } from './room.ts'
import { createRun } from './run.ts'
import { createSettler } from './settle.ts'
import { createSlots } from './slots.ts'
import { createStoreAway } from './store-away.ts'

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
  const changes = createChanges(clock)
  const nextAttempt = createNextAttempt(clock, changes)
  const storeAway = createStoreAway(report, options.absence)
  const backlog = createBacklog(clock)
  const leased = createLeased()
  const lease = createLease(options)
  const watch = createLeaseWatch({ clock, shared, life, leased, report })
  const slots = createSlots(concurrency, clock)
  const room = createRoom({ clock, concurrency, slots, leased, lease })
  const loop = createClaimLoop({
    clock,
    claim: () => claimDue(),
    failed(error) {
      backlog.unknown()
      storeAway.failed(error)
    },
    rested: changes.tell,
  })
  const { run, giveBack } = createRun({
    ...options,
    life,
    lease,
    watch,
    leased,
    slots,
    room,
    backlog,
    loop,
    nextAttempt,
    storeAway,
  })
  const claimDue = createClaims({ clock, concurrency, storeTimeoutMs, life, leased, room, backlog, storeAway, run })

  function isLeased(id: string): boolean {
    return leased.works().some(({ claim }) => claim.id === id)
  }

  function wake(): void {
    if (life.opened !== undefined) loop.wake()
  }

  return {
    ...createLocalDispatch({ clock, life, leased, room, backlog, loop, changes, run }),
    async start() {
      const store = await options.openStore()
      const settler = createSettler(store, { clock, storeTimeoutMs, isStopped: () => life.stopped })
      life.opened = { store, ...settler }
      loop.wake()
    },
    wake,
    attempted(id, timeoutMs) {
      if (life.stopped && !isLeased(id)) return Promise.resolve()
      return nextAttempt.of(id, timeoutMs)
    },
    drain: createDrain({ clock, leased, loop, changes, counts }),
    async stop(deadlineMs) {
      life.stopped = true
      loop.stop()
      // What is not in our hands now will not be attempted here any more.
      nextAttempt.noneBut(isLeased)
      const untilMs = clock.now() + deadlineMs
      // What a claim or an admission under way brings is leased already, so it runs.
      while ((leased.atWork > 0 || loop.claiming || room.isHeld) && clock.now() < untilMs)
        await changes.next(untilMs - clock.now())
      life.over = true
      slots.forget()
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
