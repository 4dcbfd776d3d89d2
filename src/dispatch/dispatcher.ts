/** Delivery: claims what is due, runs its handlers, settles it. At least once, one event of a message at a time. */
import { withDeadline } from '../clock.ts'
import { HandlerError, MessagingWebhooksError } from '../errors.ts'
import { inBatches } from '../inbox/batch.ts'
import { asStoreError } from '../inbox/store-error.ts'
import type { Awaitable, Claim, ClaimResult, OpenStore, SettleFailed, Settlement, StoreCounts } from '../inbox/store.ts'
import { createAttempts, nameOf, type AttemptOptions } from './attempt.ts'

interface DispatchOptions<X extends object> extends AttemptOptions {
  /** Messages whose handlers run at once. */
  readonly concurrency: number
  /** How long to wait for an answer of the store: a connection may fall silent. */
  readonly storeTimeoutMs: number
  readonly openStore: () => Promise<OpenStore<X>>
  /** Of the store, and of what is on its way there. */
  readonly counts: () => Awaitable<StoreCounts>
}

interface Dispatcher {
  /** Opens the store and begins to hand over. */
  start(): Promise<void>
  /** Something may be due. */
  wake(): void
  /** Resolves when the next attempt of this event is over or none will be made, or after `timeoutMs`. */
  attempted(id: string, timeoutMs: number): Promise<void>
  /** True when nothing is unsettled any more (of what has not hung, unless `waitForHung`); false when the deadline passed before. */
  drain(deadlineMs: number, options?: { readonly waitForHung?: boolean }): Promise<boolean>
  /** Hands nothing more over; waits for what runs, then aborts it. */
  stop(deadlineMs: number): Promise<void>
  readonly running: number
}

/** A lease outlasts the longest handler by this much. */
const LEASE_MARGIN_MS = 10_000
/** How long to leave a store alone that threw. */
const STORE_PAUSE_MS = 1_000
/** What another process settles is not announced: `drain` looks again after this. */
const DRAIN_LOOK_MS = 50

interface Opened<X extends object> {
  readonly store: OpenStore<X>
  readonly settle: (settlement: Settlement) => Awaitable<boolean | SettleFailed>
}

export function createDispatcher<X extends object>(options: DispatchOptions<X>): Dispatcher {
  const { clock, concurrency, handlers, handlerTimeoutMs, storeTimeoutMs, report } = options
  const attempts = createAttempts(options)
  let opened: Opened<X> | undefined
  let stopped = false
  /** Handlers that count against `concurrency`; a hung one does not. */
  let slots = 0
  let wakeAsked = false
  let claiming = false
  let cancelTimer = (): void => {}
  /** The events whose handlers have not settled, hung ones included. */
  const running = new Map<string, AbortController>()
  /** Their messages: nothing of them runs here meanwhile, even where a lease has run out. */
  const busyMessages = new Set<string>()
  /** The last thing heard of the store was a failure: an outage is said once, not at each try. */
  let isStoreAway = false
  const attemptWaiters = new Map<string, () => void>()
  const changeWaiters = new Set<() => void>()

  function wake(): void {
    if (wakeAsked || stopped || opened === undefined) return
    wakeAsked = true
    if (!claiming) clock.soon(() => void claimUntilDone())
  }

  function wakeAt(dueMs: number): void {
    cancelTimer()
    cancelTimer = clock.setTimer(wake, dueMs - clock.now())
  }

  function storeFailed(error: unknown): void {
    if (!isStoreAway) report(asStoreError(error))
    isStoreAway = true
  }

  /** Claims again as long as somebody asks for it meanwhile. */
  async function claimUntilDone(): Promise<void> {
    claiming = true
    try {
      while (wakeAsked) {
        wakeAsked = false
        await claimDue()
      }
    } catch (error) {
      storeFailed(error)
      wakeAsked = false
      wakeAt(clock.now() + STORE_PAUSE_MS)
    } finally {
      claiming = false
      changed()
    }
  }

  function inTime<T>(answer: Promise<T>): Promise<T> {
    return withDeadline(clock, storeTimeoutMs, answer, () => {
      throw new MessagingWebhooksError('store_slow')
    })
  }

  function settleInTime(store: OpenStore<X>, settlements: readonly Settlement[]): ReturnType<OpenStore<X>['settle']> {
    const settled = store.settle(settlements, clock.now())
    return settled instanceof Promise ? inTime(settled) : settled
  }

  /** Infinity while the store is away: then nobody knows. */
  async function countUnsettled(timeoutMs: number): Promise<number> {
    try {
      const counts = options.counts()
      if (!(counts instanceof Promise)) return counts.unsettled
      const { unsettled } = await withDeadline(clock, timeoutMs, counts, () => ({ unsettled: Infinity }))
      return unsettled
    } catch {
      return Infinity
    }
  }

  async function claimDue(): Promise<void> {
    const limit = concurrency - slots
    if (stopped || opened === undefined || limit <= 0) return
    const nowMs = clock.now()
    // The schema and each handler have their own time.
    const leaseUntilMs = nowMs + (1 + handlers.most) * handlerTimeoutMs + LEASE_MARGIN_MS
    const result = opened.store.claim({ limit, nowMs, leaseUntilMs, exclude: busyMessages })
    const { claims, nextDueMs } = result instanceof Promise ? await claimsInTime(result, opened, leaseUntilMs) : result
    isStoreAway = false
    for (const claim of claims) void run(claim, opened, leaseUntilMs)
    if (nextDueMs !== undefined) wakeAt(nextDueMs)
  }

  /** What comes too late is ours all the same: left alone, it would wait for its lease to run out. */
  function claimsInTime(result: Promise<ClaimResult>, from: Opened<X>, leaseUntilMs: number): Promise<ClaimResult> {
    return withDeadline(clock, storeTimeoutMs, result, () => {
      result.then(
        ({ claims }) => {
          if (!stopped && clock.now() < leaseUntilMs) for (const claim of claims) void run(claim, from, leaseUntilMs)
        },
        // It was reported as slow.
        () => {},
      )
      throw new MessagingWebhooksError('store_slow')
    })
  }

  /** What a handler has done must not be done again because the store was away: tries again while the lease lasts. */
  async function settleLater({ settle }: Opened<X>, settlement: Settlement, leaseUntilMs: number): Promise<void> {
    while (!stopped && clock.now() + STORE_PAUSE_MS < leaseUntilMs) {
      await new Promise<void>((resolve) => void clock.setTimer(resolve, STORE_PAUSE_MS))
      try {
        // Where it says no, an earlier call has done it after all, or the lease is lost; the failure was reported.
        await settle(settlement)
        return
      } catch {
        // The same outage.
      }
    }
  }

  async function run(claim: Claim, from: Opened<X>, leaseUntilMs: number): Promise<void> {
    const { id, messageKey, attempt } = claim
    const controller = new AbortController()
    const slot = { held: true }
    const onHung = (): void => {
      slot.held = false
      slots -= 1
      attemptOver(id)
    }
    slots += 1
    running.set(id, controller)
    busyMessages.add(messageKey)
    try {
      const extras = from.store.contextFor?.(claim)
      let settlement = await attempts.make({ claim, controller, extras, onHung })
      try {
        let settled = from.settle(settlement)
        let held = settled instanceof Promise ? await settled : settled
        if (typeof held !== 'boolean') {
          settlement = attempts.undone(claim, held.failed)
          settled = from.settle(settlement)
          held = settled instanceof Promise ? await settled : settled
        }
        isStoreAway = false
        if (held === false) report(new HandlerError('lease_lost', nameOf(claim), attempt))
      } catch (error) {
        if (!stopped) storeFailed(error)
        await settleLater(from, settlement, leaseUntilMs)
      }
    } catch (error) {
      // Of `contextFor`. The lease runs out, and the event comes again.
      if (!stopped) report(asStoreError(error))
    }
    running.delete(id)
    busyMessages.delete(messageKey)
    if (slot.held) slots -= 1
    attemptOver(id)
  }

  function attemptOver(id: string): void {
    attemptWaiters.get(id)?.()
    attemptWaiters.delete(id)
    changed()
    wake()
  }

  function changed(): void {
    for (const resolve of changeWaiters) resolve()
    changeWaiters.clear()
  }

  /** Waits for the next attempt or claim to end, at most `ms`. Somebody waits for us, so the process must stay. */
  async function nextChange(ms: number): Promise<void> {
    let cancel = (): void => {}
    await new Promise<void>((resolve) => {
      changeWaiters.add(resolve)
      cancel = clock.setTimer(resolve, ms, true)
    })
    cancel()
  }

  return {
    async start() {
      const store = await options.openStore()
      opened = { store, settle: inBatches((settlements) => settleInTime(store, settlements)) }
      wake()
    },
    wake,
    attempted(id, timeoutMs) {
      if (stopped) return Promise.resolve()
      // An event is new once, so nobody else waits for its attempt.
      const over = new Promise<void>((resolve) => void attemptWaiters.set(id, resolve))
      return withDeadline(clock, timeoutMs, over, () => undefined)
    },
    async drain(deadlineMs, { waitForHung = true } = {}) {
      const untilMs = clock.now() + deadlineMs
      for (;;) {
        // Counting a long backlog takes its time, so it is counted only where it may be none.
        const isIdle = slots === 0 && !claiming
        const unsettled = isIdle ? await countUnsettled(Math.max(untilMs - clock.now(), DRAIN_LOOK_MS)) : Infinity
        if (slots === 0 && unsettled === 0) return true
        // Apart from the hung ones, whose slots are free.
        if (!waitForHung && slots === 0 && unsettled <= running.size) return false
        const leftMs = untilMs - clock.now()
        if (leftMs <= 0) return false
        await nextChange(Math.min(DRAIN_LOOK_MS, leftMs))
      }
    },
    async stop(deadlineMs) {
      stopped = true
      cancelTimer()
      // What is not running now will not be attempted here any more.
      for (const id of attemptWaiters.keys()) if (!running.has(id)) attemptOver(id)
      const untilMs = clock.now() + deadlineMs
      // What a claim under way brings is leased already, so it runs.
      while ((slots > 0 || claiming) && clock.now() < untilMs) await nextChange(untilMs - clock.now())
      const reason = new MessagingWebhooksError('receiver_closed')
      for (const controller of running.values()) controller.abort(reason)
    },
    get running() {
      return slots
    },
  }
}
