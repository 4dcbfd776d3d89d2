/**
 * Composes storage and dispatch: the store with its inbox, the handlers with their dispatcher, and the sweep for overdue sends.
 */
import type { SteadyClock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { OptionsError, type MessagingWebhooksError } from '../public/errors.ts'
import { traceContextOf } from '../public/callback.ts'
import type { StoreAvailability } from '../inbox/availability.ts'
import { createInbox } from '../inbox/inbox.ts'
import { SEND_WAIT_MS } from '../messages/sends.ts'
import type { LocalFile } from '../local-file/local-file.ts'
import type { Store } from '../inbox/store.ts'
import { createDispatcher } from '../dispatch/dispatcher.ts'
import { createHandlerRegistry, createUnhandled } from '../dispatch/handlers.ts'
import type { ReviveOptions } from '../dispatch/revive.ts'
import { createPendingWatch } from '../sends/expect.ts'
import { createSweep } from '../sends/sweep.ts'
import { warnOfNoSpool, type ResolvedOptions } from './resolve-options.ts'

interface DeliveryOptions {
  readonly resolved: ResolvedOptions
  readonly store: Store<object>
  readonly clock: SteadyClock
  /** A clock that nothing sets. */
  readonly elapsedMs: () => number
  readonly logger: Logger
  readonly availability: StoreAvailability
  readonly report: (error: MessagingWebhooksError) => void
  readonly secrets: () => readonly string[]
  /** Has the spool. Undefined without one. */
  readonly localFile: LocalFile | undefined
  /** The result of `createReceiver`, for subscribers of a channel. */
  readonly receiver: object
  /** Called when an event may be due, possibly before the receiver was started. */
  readonly onWork: () => void
}

export type Delivery = ReturnType<typeof createDelivery>

export function createDelivery(options: DeliveryOptions) {
  const { resolved, store, clock, logger, availability, report, secrets, receiver } = options
  const { handlerTimeoutMs, storeTimeoutMs } = resolved
  const { capabilities } = store
  if (!resolved.dispatch && !capabilities.shared)
    throw new OptionsError(
      `dispatch: false needs a store that another receiver can share; the ${capabilities.name} store is not one.`,
    )
  const hasSpool = options.localFile !== undefined
  const lacksSpool = resolved.spool !== false && capabilities.durable && !hasSpool
  let isSpoolMissed = false
  const pending = createPendingWatch()
  const reviving: ReviveOptions = {
    clock,
    schemas: resolved.schemas,
    subscriptionType: resolved.subscriptionType,
    schemaTimeoutMs: handlerTimeoutMs,
  }
  const handlers = createHandlerRegistry(handlerTimeoutMs)
  const unhandled = createUnhandled(logger)
  const dispatcher = createDispatcher({
    ...resolved,
    clock,
    handlers,
    reviving,
    report,
    availability,
    attemptMessage(event, { attempt, replay, record }) {
      const trace = traceContextOf(record)
      return { receiver, event, attempt, replay, ...(trace && { trace }) }
    },
    unhandled: unhandled.see,
    secrets,
    shared: capabilities.shared,
  })
  const sweep = createSweep({
    clock,
    looksForOthers: capabilities.shared || capabilities.durable,
    onWork: () => dispatcher.wake(),
  })
  const inbox = createInbox(store, {
    clock,
    storeTimeoutMs,
    gapTimeoutMs: Math.max(resolved.ordering.gapTimeoutMs, SEND_WAIT_MS),
    report,
    elapsedMs: options.elapsedMs,
    host: { claims: resolved.dispatch, onLost: dispatcher.lose, inFlight: dispatcher.tokenOf },
    onWork() {
      options.onWork()
      dispatcher.wake()
    },
    admitBatch: dispatcher.admit,
    availability,
    localFile: options.localFile,
    secrets,
  })

  return {
    capabilities,
    handlers,
    dispatcher,
    inbox,
    reviving,
    unhandled,
    pending,
    /** The store is durable, and no spool replaces it while it is unavailable. */
    lacksSpool,
    hasSpool,
    /** Opens the store and starts dispatching. */
    async open(): Promise<void> {
      if (lacksSpool && !isSpoolMissed) warnOfNoSpool(logger, capabilities)
      isSpoolMissed = true
      // A receiver that only accepts callbacks needs its store too.
      const opened = await inbox.open()
      if (!resolved.dispatch) return
      dispatcher.start(opened)
      sweep.begin(opened)
    },
    /** Called after a send was recorded: its reports may be due, and it becomes overdue at `overdueAtMs`. */
    expected(overdueAtMs: number): void {
      dispatcher.wake()
      sweep.at(overdueAtMs)
    },
    stopSweep: sweep.stop,
  }
}
