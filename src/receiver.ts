/** Wires the stages together; nothing else. The object that it makes is described in surface.ts. */
import { channel } from 'node:diagnostics_channel'
import { credentialsSource } from './authenticity/credentials.ts'
import { createQuarantine, quarantineFolder, type GuardedQuarantine } from './quarantine/quarantine.ts'
import type { ArrivedCallback } from './callback.ts'
import { checkedCalls } from './checked-calls.ts'
import { guardClock, LONGEST_TIMER_MS, steadyClock, systemClock, withDeadline } from './clock.ts'
import { CALLBACK_CHANNEL, type CallbackMessage } from './channels.ts'
import { closeOnSignal } from './close-on-signal.ts'
import { createCounter } from './counts.ts'
import { createDeadLetters } from './dispatch/dead-letters.ts'
import { createEvents, storedType } from './dispatch/listed-events.ts'
import { handedOverChannel } from './dispatch/attempt.ts'
import { createDispatcher } from './dispatch/dispatcher.ts'
import { createHandlerRegistry, type AnyHandler } from './dispatch/handlers.ts'
import { revive, type ReviveOptions } from './dispatch/revive.ts'
import { createAboutApp } from './doctor/about-app.ts'
import { createProbes } from './doctor/answering.ts'
import { createOwnDoctor } from './doctor/own-receiver.ts'
import { createUnnamedNetworks } from './doctor/unnamed-networks.ts'
import { createAccounts } from './expecting/account.ts'
import { createExpect } from './expecting/expect.ts'
import { expectationOf } from './expecting/expectation-of.ts'
import { createIntend } from './expecting/intend.ts'
import { createOrphanWatch } from './expecting/orphans.ts'
import { createSweep } from './expecting/sweep.ts'
import { createForget } from './erasure/forget.ts'
import { asOurs, MessagingWebhooksError, OptionsError } from './errors.ts'
import type { RefusalCode } from './error-table.ts'
import type { CallbackKind, HandedOver, Schemas } from './events.ts'
import { createInflight } from './http/inflight.ts'
import { nodeMiddleware } from './http/node.ts'
import { receiveRequest } from './http/request.ts'
import { createBodies } from './http/reading.ts'
import { createServers } from './http/servers.ts'
import { createAbsence } from './inbox/absence.ts'
import { messageKey, sendKey } from './inbox/identity.ts'
import { createInbox, type Inbox } from './inbox/inbox.ts'
import { openOrKeepTrying } from './inbox/opening.ts'
import { messageState } from './inbox/latest.ts'
import { openSpools } from './inbox/spool/spool.ts'
import type { Admission, NewEvent, Store } from './inbox/store.ts'
import { consoleLogger, flushLogger, guardLogger, silentLogger } from './logger.ts'
import type { Options } from './options.ts'
import { createReceive } from './receive.ts'
import { createReporter } from './report.ts'
import { resolveOptions } from './resolve-options.ts'
import { createShutDown, type Closed } from './shut-down.ts'
import { showInside, type Watch } from './inspector/inside.ts'
import { memoryStore } from './stores/memory/store.ts'
import type { Receiver } from './surface.ts'
import { createHealth } from './telemetry/health.ts'
import { healthMiddleware } from './telemetry/health-middleware.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { traceContextOf } from './trace-context.ts'
import { createUnhandled } from './unhandled.ts'
import { guardReading } from './users-reading.ts'
import { warnOfNoSpool, warnOfOptions } from './warnings.ts'

const DEADLINE_MS = 10_000
const MOST_NAMED = 1_000

const callbackChannel = channel(CALLBACK_CHANNEL)

function say(message: CallbackMessage): void {
  callbackChannel.publish(message)
}

/**
 * Creates a receiver. Nothing is opened and no timer runs before `start()` or the first request.
 * Throws an `OptionsError` for an option that cannot work.
 */
export function createReceiver<const S extends Schemas = {}, X extends object = {}>(
  options: Options<S> & { readonly store?: Store<X> | undefined },
): Receiver<S, X> {
  const resolved = resolveOptions(options)
  const { answer, handlerTimeoutMs, dedupeKey, readReport, traceContext } = resolved
  const { networks, proof, gapTimeoutMs, toleranceSeconds } = resolved
  const { orphans, begun } = createOrphanWatch(resolved.orphanHoldMs)
  const given = typeof resolved.clock === 'object' ? resolved.clock : systemClock(resolved.clock)
  const clock = resolved.clock === undefined ? given : guardClock(given, clockFailed)
  const steady = steadyClock(clock)
  const givenLogger = resolved.logger === false ? silentLogger : (resolved.logger ?? consoleLogger(clock))
  const logger = resolved.logger === false ? silentLogger : guardLogger(givenLogger)
  /** Of the credentials; a clock may fail before there are any. */
  let secrets: () => readonly string[] = () => []
  const reporter = createReporter(logger, () => secrets())
  const credentials = credentialsSource({ ...resolved, clock: steady })
  secrets = credentials.secrets
  const handlers = createHandlerRegistry(handlerTimeoutMs)
  const servers = createServers({ clock: steady, logger })
  const { maxBodyBytes, bodyTimeoutMs } = resolved
  const inflight = createInflight({ maxBytes: resolved.maxInflightBytes, maxBodyBytes, clock })
  const bodies = createBodies({ maxBodyBytes, bodyTimeoutMs, inflight, clock })
  let starting: Promise<void> | undefined
  let closing: Promise<Closed> | undefined
  let isClosed = false
  let underWay = 0
  /** Undefined as long as no inspector looks on. */
  let watch: Watch | undefined
  const closingListeners = new Set<() => void>()
  /** Whoever looks for a message without its project tries these. */
  const namedProjects = new Set(Object.keys(resolved.projects ?? {}))

  const store: Store<object> = options.store ?? memoryStore()
  if (!resolved.dispatch && !store.capabilities.shared)
    throw new OptionsError(
      `dispatch: false needs a store that another receiver can share; the ${store.capabilities.name} store is not one.`,
    )
  const spoolFolder = resolved.spool === false ? undefined : (resolved.spool ?? store.capabilities.spoolFolder)
  const absence = createAbsence({ clock: steady, logger, report })
  const reviving: ReviveOptions = {
    clock,
    schemas: resolved.schemas,
    subscriptionType: resolved.subscriptionType,
    late: resolved.late,
    schemaTimeoutMs: handlerTimeoutMs,
  }
  const unhandled = createUnhandled(logger)
  const counter = createCounter(reviving)
  const dispatcher = createDispatcher({
    clock: steady,
    handlers,
    retry: resolved.retry,
    concurrency: resolved.concurrency,
    handlerTimeoutMs,
    storeTimeoutMs: resolved.storeTimeoutMs,
    reviving,
    report,
    absence,
    handedOver(event, succeeded) {
      // The receiver's own schemas made its data.
      const message: HandedOver<S> = { receiver, event, succeeded }
      handedOverChannel.publish(message)
    },
    attemptMessage(event, { attempt, replay, record }) {
      const trace = traceContextOf(record)
      return { receiver, event, attempt, replay, ...(trace && { trace }) }
    },
    unhandled: unhandled.see,
    secrets: credentials.secrets,
    shared: store.capabilities.shared,
  })
  const sweep = createSweep({
    clock: steady,
    looksForOthers: store.capabilities.shared || store.capabilities.durable,
    onWork: () => dispatcher.wake(),
  })
  const inbox: Inbox<object> = createInbox(store, {
    clock: steady,
    storeTimeoutMs: resolved.storeTimeoutMs,
    gapTimeoutMs: Math.max(gapTimeoutMs, orphans.holdMs),
    report,
    claims: resolved.dispatch,
    onWork() {
      startUnasked()
      dispatcher.wake()
    },
    onLost: dispatcher.lose,
    admitBatch: dispatcher.admit,
    absence,
    openSpools: spoolFolder === undefined ? undefined : () => openSpools(spoolFolder, report),
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
      taken(event, admission)
    },
  })
  const lacksSpool = resolved.spool !== false && store.capabilities.durable && spoolFolder === undefined
  const unnamedNetworks = createUnnamedNetworks(networks)
  const aboutApp = createAboutApp({
    clock: steady,
    storeTimeoutMs: resolved.storeTimeoutMs,
    capabilities: store.capabilities,
    lacksSpool,
    dispatch: resolved.dispatch,
    isHandled: (type) => (handlers.byType.get(type)?.length ?? 0) > 0,
    networks: unnamedNetworks.list,
    keepAliveMs: () => servers.keepAliveMs,
    askStore: async () => (await inbox.open()).counts(),
  })
  const probes = createProbes({ byProject: credentials.byProject, toleranceSeconds, maxBodyBytes, about: aboutApp })

  function taken(event: NewEvent, admission: Admission): void {
    counter.taken(event, admission)
    watch?.taken(event, admission)
    if (event.record.oddities !== undefined) unnamedNetworks.see(event)
    if (!callbackChannel.hasSubscribers || admission === 'full') return
    const { id, record } = event
    const { kind, report: read } = record
    say({ receiver, kind, outcome: admission, eventId: id, ...(read && { messageId: read.messageId }) })
  }

  function refused(kind: CallbackKind | undefined, code: RefusalCode): void {
    counter.refused(kind, code)
    if (callbackChannel.hasSubscribers) say({ receiver, kind, outcome: 'refused', code })
  }

  const { receive, proveAgain, clockOffsetSeconds } = createReceive({
    credentials,
    inbox,
    quarantine: quarantine.intake,
    toleranceSeconds,
    networks,
    gapTimeoutMs,
    orphans,
    report,
    ...guardReading({ dedupeKey, readReport, traceContext, report }),
    probes,
    taken,
    refused,
    watchAttempt: (id) => dispatcher.watchAttempt(id, handlerTimeoutMs),
    answersWhenHandled: answer === 'handled',
  })

  function report(error: MessagingWebhooksError, fields?: object): void {
    if (error.code === 'store_full') healthWatch.sawFull()
    if (error.code === 'store_emptied' || error.code === 'store_replaced') healthWatch.sawLost(error.code)
    reporter.report(error, fields)
  }

  function clockFailed(cause?: unknown): void {
    report(new MessagingWebhooksError('clock_failed', undefined, cause === undefined ? undefined : { cause }))
  }

  /** Said once. */
  let isSpoolMissing = lacksSpool

  /** A receiver that only takes needs its store all the same. */
  async function open(): Promise<void> {
    void quarantine.open()
    if (isSpoolMissing) warnOfNoSpool(logger, store.capabilities)
    isSpoolMissing = false
    const opened = await inbox.open()
    if (!resolved.dispatch) return
    dispatcher.start(opened)
    sweep.begin(opened)
  }

  function start(): Promise<void> {
    if (closing !== undefined) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    starting ??= openOrKeepTrying({
      storeTimeoutMs: resolved.storeTimeoutMs,
      open,
      hasSpool: spoolFolder !== undefined,
      absence,
      isClosing: () => closing !== undefined,
    }).catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting
  }

  let letEnd = (): void => {}

  /** What a durable store holds is dispatched until `close()`, so the process stays, with a server or without. */
  function startAndStay(): Promise<void> {
    const started = start()
    if (resolved.dispatch && store.capabilities.durable) {
      const stay = (): void => {
        letEnd()
        letEnd = systemClock().setTimer(stay, LONGEST_TIMER_MS, true)
      }
      stay()
      started.catch(letEnd)
    }
    return started
  }

  /** The first request starts what nobody started; where that fails, its own admission says so. */
  function startUnasked(): void {
    if (starting === undefined && closing === undefined) start().catch(() => {})
  }

  const shutDown = createShutDown({
    clock: steady,
    logger,
    report,
    servers,
    quarantine,
    dispatcher,
    inbox,
    isDurable: store.capabilities.durable,
    isReceiving: () => underWay > 0,
  })

  const healthWatch = createHealth({
    clock: steady,
    storeTimeoutMs: resolved.storeTimeoutMs,
    dispatch: resolved.dispatch,
    progress: dispatcher.progress,
    keeping: inbox.keeping,
    unsettled: inbox.unsettled,
    isAway: () => absence.isAway,
    state: () => (isClosed ? 'closed' : closing === undefined ? 'open' : 'closing'),
  })

  const metrics = createMetrics({
    counts: counter.details,
    unhandled,
    dispatcher,
    inbox,
    quarantined: () => quarantine.quarantine.counts(),
    clockOffsetSeconds,
    isClosed: () => isClosed,
  })

  /** Before anything waits for servers: whoever has an endless answer under way would keep one open. */
  function tellOfClosing(): void {
    for (const listener of closingListeners) listener()
    closingListeners.clear()
  }

  function close({ deadlineMs = DEADLINE_MS } = {}): Promise<Closed> {
    sweep.stop()
    tellOfClosing()
    closing ??= shutDown(deadlineMs).finally(async () => {
      isClosed = true
      await quarantine.close()
      letEnd()
      flushLogger(givenLogger)
    })
    return closing
  }

  warnOfOptions(logger, { secrets: credentials.secrets(), hasStore: options.store !== undefined })

  /** `close()` waits for what is counted. */
  function counted<T>(work: Promise<T>): Promise<T> {
    underWay += 1
    return work.finally(() => {
      underWay -= 1
    })
  }

  /** The project that is part of keys. */
  function projectOf(project: string | undefined): string | undefined {
    if (!credentials.byProject) return undefined
    const named = project ?? credentials.onlyProject
    if (named === undefined) throw new MessagingWebhooksError('project_required')
    if (namedProjects.size < MOST_NAMED) namedProjects.add(named)
    return named
  }

  function keyOf(messageId: string, project: string | undefined): string {
    return messageKey(projectOf(project), messageId)
  }

  const expecting = {
    now: () => steady.now(),
    keyOf,
    named: (project: string | undefined) => project ?? credentials.onlyProject,
    sendKeyOf: (reference: string, project: string | undefined) => sendKey(projectOf(project), reference),
    open() {
      startUnasked()
      return inbox.open()
    },
    expected(overdueAtMs: number) {
      dispatcher.wake()
      sweep.at(overdueAtMs)
    },
    wake: () => dispatcher.wake(),
  }

  /** What every way in has in common. */
  const intake = {
    policy: proof,
    bodies,
    failed: (error: unknown) => report(asOurs(error, 'internal')),
    receive(callback: ArrivedCallback) {
      const answer = receive(callback)
      return answer instanceof Promise ? counted(answer) : answer
    },
  }

  const receiver: Receiver<S, X> = checkedCalls({
    // The registry hands each handler only events of its own types, with the context of this store.
    on: (pattern, handler) => handlers.add(pattern, handler as AnyHandler),
    onAny: (handler) => handlers.add(undefined, handler as AnyHandler),
    onError: reporter.add,
    middleware(kind, mount = {}) {
      counter.mounted(kind)
      return nodeMiddleware({
        ...intake,
        kind,
        policy: mount.proof ?? proof,
        servers,
        begun: startUnasked,
      })
    },
    receive(request) {
      startUnasked()
      return counted(receiveRequest(request, intake))
    },
    start: startAndStay,
    async messageState(messageId, { project } = {}) {
      const key = keyOf(messageId, project)
      const opened = await inbox.open()
      const stored = await opened.latest(key)
      return stored && messageState(stored)
    },
    expect: createExpect(expecting),
    intend: createIntend({ ...expecting, begun }),
    ...createAccounts(inbox.open),
    forget: createForget({ clock: steady, keyOf, inbox, quarantine, dispatcher }),
    deadLetters: createDeadLetters({
      open: inbox.open,
      revive: (kept) => revive(kept, reviving),
      now: () => steady.now(),
      wake: () => dispatcher.wakeAfterReplay(),
    }),
    events: createEvents({ open: inbox.open, revive: (kept) => revive(kept, reviving), reviving, keyOf }),
    quarantine: quarantine.quarantine,
    doctor: createOwnDoctor({ credentials, probes, about: aboutApp }),
    async stats() {
      const stored = isClosed ? undefined : await inbox.known()
      const { spooled } = inbox
      return {
        ...counter.all(),
        unhandled: unhandled.count,
        running: dispatcher.running,
        store: isClosed ? 'closed' : stored === undefined ? 'away' : 'up',
        spooled,
        unsettled: stored === undefined ? undefined : stored.unsettled + spooled,
        deadLetters: stored?.deadLetters,
        holders: stored?.holders,
      }
    },
    health: healthWatch.health,
    healthMiddleware: () => healthMiddleware(healthWatch),
    metrics,
    drain({ deadlineMs = DEADLINE_MS } = {}) {
      if (isClosed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
      // Within a handler that `close()` waits for, it says what became of the rest.
      const started = closing === undefined ? (starting ?? start()) : Promise.resolve()
      // A store that is away keeps nobody waiting for longer.
      return withDeadline(steady, deadlineMs, started, () => {}).then(() =>
        dispatcher.drain(inbox.unsettled, deadlineMs),
      )
    },
    async close(times) {
      await close(times)
    },
    closeOnSignal: (signals, given = [], times = {}) =>
      closeOnSignal([signals].flat(), [given].flat(), times, {
        clock,
        stopServers(stopped, stopTimes) {
          tellOfClosing()
          servers.stop(stopped, stopTimes)
        },
        close,
      }),
  })
  showInside(receiver, {
    clock,
    logger,
    capabilities: store.capabilities,
    projects: () => [...namedProjects],
    gapTimeoutMs: Math.max(gapTimeoutMs, resolved.orphanHoldMs ?? 0),
    counts: counter.details,
    spool: () => (inbox.spoolBytes === undefined ? undefined : { events: inbox.spooled, bytes: inbox.spoolBytes }),
    secrets: credentials.secrets,
    events: async (page) => (await inbox.open()).events?.(page),
    typeOf: (stored) => storedType(stored, reviving),
    deadLetters: async (page) => (await inbox.open()).deadLetters(page),
    latest: async (key) => (await inbox.open()).latest(key),
    expected: async (messageKey) => expectationOf(await inbox.open(), messageKey),
    sentTo: async (page) => (await inbox.open()).sentTo?.(page),
    watch(given) {
      watch = given
      dispatcher.lookOn(given)
      return () => {
        if (watch !== given) return
        watch = undefined
        dispatcher.lookOn(undefined)
      }
    },
    onClosing(listener) {
      closingListeners.add(listener)
      return () => closingListeners.delete(listener)
    },
  })
  return receiver
}
