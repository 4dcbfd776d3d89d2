/** Delivery: claims what is due, runs its handlers, settles it. At least once, one event of a message at a time. */
import { withDeadline } from '../clock.ts'
import { HandlerError, MessagingWebhooksError } from '../errors.ts'
import { inBatches } from '../inbox/batch.ts'
import { asStoreError } from '../inbox/store-error.ts'
import type { Awaitable, Claim, OpenStore, Settlement } from '../inbox/store.ts'
import { createAttempts, type AttemptOptions } from './attempt.ts'

interface DispatchOptions<X extends object> extends AttemptOptions {
  /** Messages whose handlers run at once. */
  readonly concurrency: number
  readonly openStore: () => Promise<OpenStore<X>>
}

interface Dispatcher {
  /** Opens the store and begins to hand over. */
  start(): Promise<void>
  /** Something may be due. */
  wake(): void
  /** Resolves when the next attempt of this event is over, or after `timeoutMs`. */
  attempted(id: string, timeoutMs: number): Promise<void>
  /** True when nothing is unsettled any more; false when the deadline passed before. */
  drain(deadlineMs: number): Promise<boolean>
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

export function createDispatcher<X extends object>(options: DispatchOptions<X>): Dispatcher {
  const { clock, concurrency, handlerTimeoutMs, report } = options
  const attemptAll = createAttempts(options)
  let store: OpenStore<X> | undefined
  let state: 'idle' | 'running' | 'stopped' = 'idle'
  /** Handlers that count against `concurrency`; a hung one does not. */
  let slots = 0
  let wakeAsked = false
  let claiming = false
  let cancelTimer = (): void => {}
  const controllers = new Set<AbortController>()
  /** Messages whose handler ran past its time and has not settled yet. */
  const hungMessages = new Set<string>()
  const attemptWaiters = new Map<string, (() => void)[]>()
  const changeWaiters = new Set<() => void>()

  const settle = inBatches((settlements: readonly Settlement[]): Awaitable<readonly boolean[]> => {
    if (store === undefined) throw new MessagingWebhooksError('receiver_closed')
    return store.settle(settlements, clock.now())
  })

  function wake(): void {
    if (wakeAsked || state !== 'running') return
    wakeAsked = true
    if (!claiming) clock.soon(() => void claimUntilDone())
  }

  function wakeAt(dueMs: number): void {
    cancelTimer()
    cancelTimer = clock.setTimer(wake, dueMs - clock.now())
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
      report(asStoreError(error))
      wakeAsked = false
      wakeAt(clock.now() + STORE_PAUSE_MS)
    } finally {
      claiming = false
    }
  }

  async function claimDue(): Promise<void> {
    const limit = concurrency - slots
    if (state !== 'running' || store === undefined || limit <= 0) return
    const nowMs = clock.now()
    const leaseUntilMs = nowMs + handlerTimeoutMs + LEASE_MARGIN_MS
    const result = store.claim({ limit, nowMs, leaseUntilMs, exclude: hungMessages })
    const { claims, nextDueMs } = result instanceof Promise ? await result : result
    for (const claim of claims) void run(claim)
    if (nextDueMs !== undefined) wakeAt(nextDueMs)
  }

  async function run(claim: Claim): Promise<void> {
    const { id, messageKey, attempt } = claim
    const controller = new AbortController()
    const slot = { held: true }
    const onHung = (): void => {
      slot.held = false
      hungMessages.add(messageKey)
      slots -= 1
      attemptOver(id)
    }
    slots += 1
    controllers.add(controller)
    try {
      const extras = store?.contextFor?.(claim)
      const settled = settle(await attemptAll({ claim, controller, extras, onHung }))
      const held = settled instanceof Promise ? await settled : settled
      if (!held) report(new HandlerError('lease_lost', nameOf(claim), attempt))
    } catch (error) {
      // The lease runs out, and the event comes again.
      if (state !== 'stopped') report(asStoreError(error))
    }
    controllers.delete(controller)
    if (slot.held) slots -= 1
    else hungMessages.delete(messageKey)
    attemptOver(id)
  }

  function attemptOver(id: string): void {
    for (const resolve of attemptWaiters.get(id) ?? []) resolve()
    attemptWaiters.delete(id)
    for (const resolve of changeWaiters) resolve()
    changeWaiters.clear()
    wake()
  }

  /** Waits for the next attempt to end, at most `ms`. Somebody waits for us, so the process must stay. */
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
      store = await options.openStore()
      if (state === 'idle') state = 'running'
      wake()
    },
    wake,
    attempted(id, timeoutMs) {
      const over = new Promise<void>((resolve) => {
        const waiters = attemptWaiters.get(id)
        if (waiters === undefined) attemptWaiters.set(id, [resolve])
        else waiters.push(resolve)
      })
      return withDeadline(clock, timeoutMs, over, () => undefined)
    },
    async drain(deadlineMs) {
      const untilMs = clock.now() + deadlineMs
      for (;;) {
        const { unsettled } = (await store?.counts()) ?? { unsettled: 0 }
        if (slots === 0 && unsettled === 0) return true
        const leftMs = untilMs - clock.now()
        if (leftMs <= 0) return false
        await nextChange(Math.min(DRAIN_LOOK_MS, leftMs))
      }
    },
    async stop(deadlineMs) {
      state = 'stopped'
      cancelTimer()
      const untilMs = clock.now() + deadlineMs
      while (slots > 0 && clock.now() < untilMs) await nextChange(untilMs - clock.now())
      const reason = new MessagingWebhooksError('receiver_closed')
      for (const controller of controllers) controller.abort(reason)
    },
    get running() {
      return slots
    },
  }
}

function nameOf({ id, record }: Claim): { readonly id: string; readonly type: string } {
  return { id, type: record.report?.type ?? record.kind ?? 'unrecognized' }
}
