/** Wires intake, delivery and operations together. The resulting object is described in surface.ts. */
import { trackStoreAvailability } from '../inbox/availability.ts'
import { credentialsSource } from '../verify/credentials.ts'
import { clockOf, monotonicMs, steadyClock } from '../runtime/clock.ts'
import { createListeners } from '../runtime/listeners.ts'
import { loggerOf } from '../runtime/logger.ts'
import { createReporter } from '../runtime/reporter.ts'
import type { AnyHandler } from '../dispatch/handlers.ts'
import { storedType } from '../dispatch/listed-events.ts'
import type { Store } from '../inbox/store.ts'
import type { CallbackSchemas } from '../public/events.ts'
import { memoryStore } from '../stores/memory/store.ts'
import { closeOnSignal, createShutDown } from './shut-down.ts'
import { createDelivery } from './delivery.ts'
import { allowInspection } from './inspection.ts'
import { createIntake } from './intake.ts'
import { createLifecycle } from './lifecycle.ts'
import { createLocalFiles } from './local-files.ts'
import { createOperations } from './operations.ts'
import type { ReceiverOptions } from './options.ts'
import { resolveOptions, warnOfOptions } from './resolve-options.ts'
import type { Receiver } from './surface.ts'

/**
 * Creates a receiver. Opens nothing and sets no timer before `start()` or the first request. Throws an `OptionsError` for an
 * invalid option.
 */
export function createReceiver<const S extends CallbackSchemas = {}, X extends object = {}>(
  options: ReceiverOptions<S> & { readonly store?: Store<X> | undefined },
): Receiver<S, X> {
  const resolved = resolveOptions(options)
  const clock = clockOf(resolved.clock)
  const steady = steadyClock(clock)
  const logger = loggerOf(resolved.logger, clock)
  const credentials = credentialsSource({ ...resolved, clock: steady })
  const reporter = createReporter(logger, credentials.secrets)
  const { report } = reporter
  const availability = trackStoreAvailability({ clock: steady, logger, report })
  const store: Store<object> = options.store ?? memoryStore()
  const files = createLocalFiles(resolved, store.capabilities, report)
  /** Notified when a part needs the store open: `start()` may not have been called. */
  const needsStart = createListeners()
  // The messages of channels name the receiver, so the parts get it before it has its methods.
  const receiver = {} as Receiver<S, X>

  const delivery = createDelivery({
    resolved,
    store,
    clock: steady,
    // A whole clock, as tests advance it, is its own monotonic clock.
    elapsedMs: typeof resolved.clock === 'object' ? () => clock.now() : monotonicMs,
    logger,
    availability,
    report,
    secrets: credentials.secrets,
    localFile: files.spool,
    receiver,
    onWork: needsStart.notify,
  })
  const intake = createIntake({
    resolved,
    clock,
    steady,
    logger,
    report,
    credentials,
    delivery,
    localFile: files.quarantine,
    receiver,
    onRequest: needsStart.notify,
  })
  const lifecycle = createLifecycle({
    clock: steady,
    availability,
    storeTimeoutMs: resolved.storeTimeoutMs,
    report,
    delivery,
    intake,
    staysOpen: resolved.dispatch && store.capabilities.durable,
    closeFiles: files.close,
    shutDown: createShutDown({ clock: steady, logger, report, delivery, intake }),
  })
  needsStart.add(lifecycle.startUnasked)
  const operations = createOperations({
    resolved,
    clock: steady,
    credentials,
    availability,
    delivery,
    intake,
    lifecycle,
  })
  reporter.watch(operations.reported)
  warnOfOptions(logger, { credentials, hasStore: options.store !== undefined })

  const { dispatcher, handlers, inbox, reviving } = delivery
  const { counter, servers } = intake
  const methods: Receiver<S, X> = {
    // The registry passes a handler only events of its types, with the context of this store.
    on: (pattern, handler) => handlers.add(pattern, handler as AnyHandler),
    onAny: (handler) => handlers.addAny(handler as AnyHandler),
    onError: reporter.add,
    ...intake.calls,
    quarantine: intake.quarantine.quarantine,
    ...operations.calls,
    start: lifecycle.start,
    drain: lifecycle.drain,
    async close(times) {
      await lifecycle.close(times)
    },
    closeOnSignal: (signals, given = [], times) =>
      closeOnSignal([signals].flat(), [given].flat(), times, {
        stopServers(stopped, stopTimes) {
          lifecycle.notifyOfClosing()
          servers.stop(stopped, stopTimes)
        },
        close: lifecycle.close,
        onClosed: lifecycle.onClosed,
      }),
  }
  Object.assign(receiver, methods)
  allowInspection(receiver, {
    clock,
    logger,
    capabilities: store.capabilities,
    projects: operations.projects,
    gapTimeoutMs: resolved.ordering.gapTimeoutMs,
    counts: counter.details,
    unhandled: delivery.unhandled.byType,
    secrets: credentials.secrets,
    scan: async (query) => (await inbox.open()).scan(query),
    refused: inbox.refusedEvents,
    record: async (key) => (await (await inbox.open()).run([{ do: 'read', key }]))[0],
    typeOf: (stored) => storedType(stored, reviving),
    watch(given) {
      counter.watch(given)
      dispatcher.observe(given)
      return () => {
        if (counter.unwatch(given)) dispatcher.observe(undefined)
      }
    },
    onClosing: lifecycle.onClosing,
  })
  return receiver
}
