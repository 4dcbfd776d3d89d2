/** Wires the stages together; nothing else. The object that it makes is described in surface.ts. */
import { channel } from 'node:diagnostics_channel'
import { credentialsSource, hasBlankEnds } from './authenticity/credentials.ts'
import { createQuarantine, type GuardedQuarantine } from './authenticity/quarantine.ts'
import { quarantineFolder } from './authenticity/quarantine/folder.ts'
import { guardClock, steadyClock, systemClock } from './clock.ts'
import { closeOn } from './close-on.ts'
import { readDeadLetters } from './dispatch/dead-letters.ts'
import { createDispatcher } from './dispatch/dispatcher.ts'
import { createHandlerRegistry, type AnyHandler } from './dispatch/handlers.ts'
import { revive, subscriptionWordIn, type Kept } from './dispatch/revive.ts'
import { asOurs, MessagingWebhooksError, OptionsError, RefusedError } from './errors.ts'
import { HANDED_OVER_CHANNEL, type HandedOver, type Schemas } from './events.ts'
import { createInflight } from './http/inflight.ts'
import { nodeMiddleware } from './http/node.ts'
import { createServers } from './http/servers.ts'
import { messageKey } from './inbox/identity.ts'
import { createInbox, type Inbox } from './inbox/inbox.ts'
import { latestState } from './inbox/latest.ts'
import { openSpools } from './inbox/spool/spools.ts'
import type { Admission, NewEvent, Store } from './inbox/store.ts'
import { consoleLogger, guardLogger, silentLogger } from './logger.ts'
import type { Options } from './options.ts'
import { letReject } from './promises.ts'
import { createReceive } from './receive.ts'
import { createReporter } from './report.ts'
import { checkKind, checkPolicy, resolveOptions } from './resolve-options.ts'
import { createShutDown } from './shut-down.ts'
import { memoryStore } from './stores/memory/store.ts'
import type { Receiver } from './surface.ts'

const handedOverChannel = channel(HANDED_OVER_CHANNEL)

const DEADLINE_MS = 10_000
const DEAD_LETTERS_A_PAGE = 100

/**
 * Creates a receiver. Nothing is opened and no timer runs before `start()` or the first request.
 * Throws an `OptionsError` for an option that cannot work.
 */
export function createReceiver<const S extends Schemas = {}, X extends object = {}>(
  options: Options<S> & { readonly store?: Store<X> | undefined },
): Receiver<S, X> {
  const resolved = resolveOptions(options)
  const { answer, handlerTimeoutMs, identify, networks, proof, gapTimeoutMs, toleranceSeconds } = resolved
  const given = typeof resolved.clock === 'object' ? resolved.clock : systemClock(resolved.clock)
  const clock = resolved.clock === undefined ? given : guardClock(given, clockFailed)
  const steady = steadyClock(clock)
  const logger = guardLogger(resolved.logger === false ? silentLogger : (resolved.logger ?? consoleLogger(clock)))
  const reporter = createReporter(logger)
  const credentials = credentialsSource({ ...resolved, clock: steady })
  const handlers = createHandlerRegistry()
  const servers = createServers({ clock, logger })
  const inflight = createInflight({ maxBytes: resolved.maxInflightBytes, maxBodyBytes: resolved.maxBodyBytes, clock })
  const counts = { taken: 0, duplicates: 0, late: 0, refused: 0 }
  let starting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let isClosed = false
  let underWay = 0

  const store: Store<object> = options.store ?? memoryStore()
  if (!resolved.dispatch && !store.capabilities.shared)
    throw new OptionsError(
      `dispatch: false needs a store that another receiver can share; the ${store.capabilities.name} store is not one.`,
    )
  const spoolFolder = resolved.spool === false ? undefined : (resolved.spool ?? store.capabilities.spoolFolder)
  const inbox: Inbox<object> = createInbox(store, {
    clock: steady,
    storeTimeoutMs: resolved.storeTimeoutMs,
    gapTimeoutMs,
    report,
    claims: resolved.dispatch,
    openSpools: spoolFolder === undefined ? undefined : () => openSpools(spoolFolder, report),
    onWork() {
      startUnasked()
      dispatcher.wake()
    },
    local: {
      room: (events) => dispatcher.room(events),
      release: (request) => dispatcher.release(request),
      take: (events, result, request) => dispatcher.take(events, result, request),
    },
  })
  const reviveKept = (kept: Kept) =>
    revive(kept, {
      clock,
      schemas: resolved.schemas,
      subscriptionType: resolved.subscriptionType ?? subscriptionWordIn,
      late: resolved.late,
      schemaTimeoutMs: handlerTimeoutMs,
    })
  const dispatcher = createDispatcher({
    clock: steady,
    handlers,
    retry: resolved.retry,
    concurrency: resolved.concurrency,
    handlerTimeoutMs,
    storeTimeoutMs: resolved.storeTimeoutMs,
    revive: reviveKept,
    report,
    handedOver(event, succeeded) {
      const message: HandedOver = { receiver, event, succeeded }
      if (handedOverChannel.hasSubscribers) handedOverChannel.publish(message)
    },
    secrets: credentials.secrets,
    shared: store.capabilities.shared,
    openStore: inbox.open,
    counts: inbox.counts,
  })
  const quarantine: GuardedQuarantine = createQuarantine<NewEvent>({
    clock,
    report,
    secrets: credentials.secrets,
    limits: resolved.quarantine,
    folder: quarantineFolder({
      folder: resolved.quarantine?.folder,
      spool: resolved.spool,
      besideStore: store.capabilities.spoolFolder,
    }),
    logger,
    pairsFor: credentials.pairsFor,
    prove: (callback, again) => proveAgain(callback, again),
    async admit(event) {
      const admission = await inbox.admit(event)
      if (admission === 'full') throw new MessagingWebhooksError('store_full')
      count(admission)
    },
  })
  const { receive, proveAgain } = createReceive({
    credentials,
    inbox,
    quarantine: quarantine.intake,
    toleranceSeconds,
    networks,
    gapTimeoutMs,
    report,
    identify(callback) {
      if (identify === undefined) return undefined
      try {
        // A copy: what is stored is not theirs to change.
        const chosen: unknown = identify({ ...callback, raw: Buffer.from(callback.raw) })
        if (chosen === undefined || (typeof chosen === 'string' && chosen !== '')) return chosen
        letReject(chosen)
        report(new MessagingWebhooksError('identify_failed'))
      } catch (error) {
        report(new MessagingWebhooksError('identify_failed', undefined, { cause: error }))
      }
      return undefined
    },
    admitted(event, admission) {
      count(admission)
      const isNew = admission !== 'duplicate'
      return isNew && answer === 'handled' ? dispatcher.attempted(event.id, handlerTimeoutMs) : undefined
    },
  })

  function count(admission: Admission): void {
    counts.taken += 1
    if (admission === 'duplicate') counts.duplicates += 1
    if (admission === 'late') counts.late += 1
  }

  function report(error: MessagingWebhooksError): void {
    if (error instanceof RefusedError) counts.refused += 1
    reporter.report(error)
  }

  function clockFailed(cause?: unknown): void {
    report(new MessagingWebhooksError('clock_failed', undefined, cause === undefined ? undefined : { cause }))
  }

  /** Once, and only where the store is somewhere else than this process's disk: a file has its spool beside it. */
  let warned = resolved.spool === false || spoolFolder !== undefined || !store.capabilities.durable
  function warnOfOutages(): void {
    if (warned) return
    warned = true
    logger.warn(
      { code: 'no_spool' },
      `While the ${store.capabilities.name} store is away, callbacks are answered 503 and lost, for the service does not send ` +
        'them again. Let `spool` name a folder on a local disk, or set `spool: false` if that is what you want.',
    )
  }

  /** A receiver that only takes needs its store all the same. */
  async function open(): Promise<void> {
    warnOfOutages()
    if (resolved.dispatch) await dispatcher.start()
    else await inbox.open()
  }

  function start(): Promise<void> {
    if (closing !== undefined) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    void quarantine.open()
    starting ??= open().catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting
  }

  /** The first request starts what nobody started; where that fails, its own admission says so. */
  function startUnasked(): void {
    if (starting === undefined && closing === undefined) start().catch(() => {})
  }

  const shutDown = createShutDown({
    clock: steady,
    logger,
    servers,
    quarantine,
    dispatcher,
    inbox,
    isDurable: store.capabilities.durable,
    isReceiving: () => underWay > 0,
  })

  function close({ deadlineMs = DEADLINE_MS } = {}): Promise<void> {
    closing ??= shutDown(atMost(deadlineMs)).finally(() => {
      isClosed = true
      return quarantine.close()
    })
    return closing
  }

  for (const secret of credentials.secrets())
    if (hasBlankEnds(secret))
      logger.warn(
        { code: 'secret_blank_ends' },
        'A key or secret begins or ends with white space. Was it read from a file with a line end? Trim it.',
      )
  if (options.store === undefined && process.env['NODE_ENV'] === 'production')
    logger.warn(
      { code: 'memory_store' },
      'No `store` is set: events wait in memory, and what is not handled when the process ends is lost.',
    )

  const receiver: Receiver<S, X> = {
    // The registry hands each handler only events of its own types, with the context of this store.
    on: (pattern, handler) => handlers.add(pattern, handler as AnyHandler),
    onAny: (handler) => handlers.add(undefined, handler as AnyHandler),
    onError: reporter.add,
    middleware(kind, mount = {}) {
      const policy = mount.proof ?? proof
      checkKind(kind)
      checkPolicy(policy)
      return nodeMiddleware({
        kind,
        policy,
        clock,
        inflight,
        maxBodyBytes: resolved.maxBodyBytes,
        bodyTimeoutMs: resolved.bodyTimeoutMs,
        seen(request) {
          servers.see(request)
          startUnasked()
        },
        failed: (error) => report(asOurs(error, 'internal')),
        isClosing: (request) => closing !== undefined || servers.isStopping(request),
        receive(callback) {
          const answer = receive(callback)
          if (!(answer instanceof Promise)) return answer
          underWay += 1
          return answer.finally(() => {
            underWay -= 1
          })
        },
      })
    },
    start,
    async latest(messageId, { project = credentials.onlyProject } = {}) {
      if (credentials.byProject && project === undefined) throw new MessagingWebhooksError('project_required')
      const opened = await inbox.open()
      const stored = await opened.latest(messageKey(credentials.byProject ? project : undefined, messageId))
      return stored && latestState(stored)
    },
    async deadLetters({ after, limit = DEAD_LETTERS_A_PAGE } = {}) {
      return readDeadLetters(await inbox.open(), reviveKept, { after, limit })
    },
    async replay(id, { force = false } = {}) {
      const opened = await inbox.open()
      const found = await opened.resolve(id, force ? 'force' : 'replay', steady.now())
      dispatcher.wake()
      return found
    },
    async discard(id) {
      const opened = await inbox.open()
      return opened.resolve(id, 'discard', steady.now())
    },
    quarantine: quarantine.quarantine,
    async stats() {
      return { ...counts, running: dispatcher.running, ...(await inbox.counts()) }
    },
    async drain({ deadlineMs = DEADLINE_MS } = {}) {
      // Within a handler that `close()` waits for, it says what became of the rest.
      if (closing === undefined || isClosed) await start()
      return dispatcher.drain(atMost(deadlineMs))
    },
    close,
    closeOn: (signals, given = [], times = {}) =>
      closeOn([signals].flat(), [given].flat(), times, { clock, stopServers: servers.stop, close }),
  }
  return receiver
}

/** A deadline that is no time, from a variable that was not set perhaps, must neither end at once nor never. */
function atMost(deadlineMs: number): number {
  return deadlineMs >= 0 ? deadlineMs : DEADLINE_MS
}
