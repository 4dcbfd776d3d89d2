/** Opens and closes a receiver. Both run once; after a failed start, the next request tries again. */
import { z } from 'zod'
import { checkOptions, numberFrom } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, systemClock, withDeadline, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { ErrorCode } from '../public/error-table.ts'
import type { StoreAvailability } from '../inbox/availability.ts'
import { createListeners } from '../runtime/listeners.ts'
import { openOrKeepTrying } from '../inbox/opening.ts'
import type { Delivery } from './delivery.ts'
import type { Intake } from './intake.ts'
import type { Closed } from './shut-down.ts'

interface Deadline {
  readonly deadlineMs?: number | undefined
}

export type Lifecycle = ReturnType<typeof createLifecycle>

interface LifecycleOptions {
  readonly clock: Clock
  readonly availability: StoreAvailability
  readonly storeTimeoutMs: number
  readonly report: (error: MessagingWebhooksError) => void
  /** Whether a durable store has its backlog dispatched here until `close()`. */
  readonly staysOpen: boolean
  readonly delivery: Delivery
  readonly intake: Intake
  readonly shutDown: (deadlineMs: number) => Promise<Closed>
  /** Closes the local files, which outlive the store and the quarantine. */
  readonly closeFiles: () => Promise<void>
}

const DEADLINE_MS = 10_000

const deadlineOptions = z.strictObject({
  deadlineMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional(),
})

export function createLifecycle(options: LifecycleOptions) {
  const { clock, availability, storeTimeoutMs, delivery, intake, staysOpen, shutDown, closeFiles } = options
  let starting: Promise<void> | undefined
  let hasStarted = false
  /** The error of the last start, if a retry cannot fix it. */
  let failure: ErrorCode | undefined
  let closing: Promise<Closed> | undefined
  let isClosed = false
  let letEnd = (): void => {}
  const closingListeners = createListeners()
  const closedListeners = createListeners()

  function startOnce(): Promise<void> {
    if (closing !== undefined) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    starting ??= openOrKeepTrying({
      storeTimeoutMs,
      async open() {
        void intake.quarantine.open()
        await delivery.open()
        void intake.quarantine.verifyAtStart()
        failure = undefined
      },
      hasSpool: delivery.hasSpool,
      availability,
      isClosing: () => closing !== undefined,
      failed,
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

  /** Reports each error once, because every request tries to start again. Beside a spool no other part would name it. */
  function failed(error: MessagingWebhooksError): void {
    starting = undefined
    if (closing !== undefined || failure === error.code) return
    failure = error.code
    options.report(error)
  }

  function stay(): void {
    letEnd()
    letEnd = systemClock().setTimer(stay, LONGEST_TIMER_MS, true)
  }

  /** Notifies listeners before waiting for servers: an endless response would keep its server open. */
  function notifyOfClosing(): void {
    closingListeners.notify()
    closingListeners.clear()
  }

  return {
    get state(): 'open' | 'closing' | 'closed' {
      if (isClosed) return 'closed'
      return closing === undefined ? 'open' : 'closing'
    },
    /** Whether the receiver cannot start for a reason that a retry cannot fix. */
    get hasFailed(): boolean {
      return failure !== undefined
    },
    /** Opens the store and starts the dispatch. Keeps the process alive while a durable store may have events to dispatch. */
    start(): Promise<void> {
      if (staysOpen) stay()
      // A promise of its own: `startUnasked` handles the rejection of the shared one, and would hide it from the process.
      let unlisten = (): void => {}
      const started = startOnce().then(
        () => unlisten(),
        (error: unknown) => {
          unlisten()
          letEnd()
          throw error
        },
      )
      // `close()` ends a start that waits for its store. The caller asked for that, so this is not an unhandled rejection.
      if (closing === undefined) unlisten = closingListeners.add(() => void started.catch(() => {}))
      return started
    },
    /** Starts with the first request if `start` was not called. The admission of the request reports a failure. */
    startUnasked(): void {
      if (starting === undefined && closing === undefined) startOnce().catch(() => {})
    },
    async drain(given?: Deadline): Promise<boolean> {
      const { deadlineMs = DEADLINE_MS } = given === undefined ? {} : checkOptions(deadlineOptions, given, 'drain')
      if (isClosed) throw new MessagingWebhooksError('receiver_closed')
      // An unavailable store delays this no longer than the deadline. During `close()`, a handler may still call `drain()`.
      if (!hasStarted && closing === undefined) await withDeadline(clock, deadlineMs, startOnce(), () => {})
      return delivery.dispatcher.drain(delivery.inbox.unsettled, deadlineMs)
    },
    async close(given?: Deadline): Promise<Closed> {
      const { deadlineMs = DEADLINE_MS } = checkOptions(deadlineOptions, given, 'close')
      notifyOfClosing()
      closing ??= shutDown(deadlineMs).finally(async () => {
        isClosed = true
        await intake.quarantine.close()
        await closeFiles()
        letEnd()
        closedListeners.notify()
      })
      return closing
    },
    onClosing: closingListeners.add,
    onClosed: closedListeners.add,
    notifyOfClosing,
  }
}
