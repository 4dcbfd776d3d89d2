/**
 * When a receiver opens and closes. It owns the promises of both: they are made once, and a start that failed is made anew by the
 * next request.
 */
import { z } from 'zod'
import { checkOptions, numberFrom } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, systemClock, withDeadline, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Dispatcher } from '../dispatch/dispatcher.ts'
import type { Absence } from '../inbox/absence.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { openOrKeepTrying } from '../inbox/opening.ts'
import type { Closed } from './shut-down.ts'

interface Deadline {
  readonly deadlineMs?: number | undefined
}

export interface Lifecycle {
  readonly state: 'open' | 'closing' | 'closed'
  /** Opens the store and begins to dispatch. The process stays as long as a durable store may have something to dispatch. */
  start(): Promise<void>
  /** The first request starts a receiver that was not started. Where that fails, the admission of the request reports it. */
  startUnasked(): void
  drain(options?: Deadline): Promise<boolean>
  close(options?: Deadline): Promise<Closed>
  /** Returns the function that takes the listener off again. */
  onClosing(listener: () => void): () => void
  /** Before anything waits for servers: an endless answer would keep its server open. */
  tellOfClosing(): void
}

interface LifecycleOptions {
  readonly clock: Clock
  readonly absence: Absence
  readonly storeTimeoutMs: number
  readonly hasSpool: boolean
  /** A durable store has its backlog dispatched here until `close()`. */
  readonly staysOpen: boolean
  /** May be called again where it rejects. */
  readonly open: () => Promise<void>
  readonly dispatcher: Pick<Dispatcher, 'drain'>
  readonly inbox: Pick<Inbox<object>, 'unsettled'>
  readonly shutDown: (deadlineMs: number) => Promise<Closed>
  /** Nothing is received or dispatched any more. */
  readonly closed: () => Promise<void>
}

const DEADLINE_MS = 10_000

const deadlineOptions = z.strictObject({
  deadlineMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional(),
})

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { clock, absence, storeTimeoutMs, hasSpool, staysOpen } = options
  let starting: Promise<void> | undefined
  let hasStarted = false
  let closing: Promise<Closed> | undefined
  let isClosed = false
  let letEnd = (): void => {}
  const closingListeners = new Set<() => void>()

  function startOnce(): Promise<void> {
    if (closing !== undefined) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    starting ??= openOrKeepTrying({
      storeTimeoutMs,
      open: options.open,
      hasSpool,
      absence,
      isClosing: () => closing !== undefined,
    }).then(
      () => {
        hasStarted = true
      },
      (error: unknown) => {
        starting = undefined
        throw error
      },
    )
    return starting
  }

  function stay(): void {
    letEnd()
    letEnd = systemClock().setTimer(stay, LONGEST_TIMER_MS, true)
  }

  function tellOfClosing(): void {
    for (const listener of closingListeners) listener()
    closingListeners.clear()
  }

  return {
    get state() {
      if (isClosed) return 'closed'
      return closing === undefined ? 'open' : 'closing'
    },
    start() {
      const started = startOnce()
      if (staysOpen) {
        stay()
        started.catch(() => letEnd())
      }
      return started
    },
    startUnasked() {
      if (starting === undefined && closing === undefined) startOnce().catch(() => {})
    },
    async drain(given) {
      const { deadlineMs = DEADLINE_MS } = given === undefined ? {} : checkOptions(deadlineOptions, given, 'drain')
      if (isClosed) throw new MessagingWebhooksError('receiver_closed')
      // A store that is away keeps nobody waiting for longer. A handler that `close()` waits for is told what became of the rest.
      if (!hasStarted && closing === undefined) await withDeadline(clock, deadlineMs, startOnce(), () => {})
      return options.dispatcher.drain(options.inbox.unsettled, deadlineMs)
    },
    async close(given) {
      const { deadlineMs = DEADLINE_MS } = checkOptions(deadlineOptions, given, 'close')
      tellOfClosing()
      closing ??= options.shutDown(deadlineMs).finally(async () => {
        isClosed = true
        await options.closed()
        letEnd()
      })
      return closing
    },
    onClosing(listener) {
      closingListeners.add(listener)
      return () => closingListeners.delete(listener)
    },
    tellOfClosing,
  }
}
