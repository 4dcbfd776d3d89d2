/**
 * Composes the receiving side: servers and bodies, the pipeline up to the response, the quarantine, and the doctor's probes.
 */
import type { Clock, SteadyClock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { createCounter } from '../operations/counts.ts'
import { createProbes } from '../operations/doctor/protocol.ts'
import { createOwnDoctor } from '../operations/doctor/own-receiver.ts'
import { asOurs, MessagingWebhooksError } from '../public/errors.ts'
import { pairsFor } from '../verify/authenticate.ts'
import { createMistakeFinder } from '../verify/mistaken-secrets.ts'
import type { CredentialsSource } from '../verify/credentials.ts'
import { createInflight } from '../http/inflight.ts'
import { createNodeIntake } from '../http/node.ts'
import { createBodies } from '../http/reading.ts'
import { checkMount, checkNoRequest, checkRequest } from '../http/check-request.ts'
import { receiveRequest } from '../http/request.ts'
import { createServers } from '../http/servers.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { Admission } from '../messages/commands.ts'
import { guardReading } from '../inbox/users-reading.ts'
import type { LocalFile } from '../local-file/local-file.ts'
import { createQuarantine } from '../quarantine/quarantine.ts'
import type { Delivery } from './delivery.ts'
import { createFirstReports } from './first-reports.ts'
import { createProvedEvents } from './proved-events.ts'
import { createReceive } from './receive.ts'
import type { ResolvedOptions } from './resolve-options.ts'
import type { Receiver } from './surface.ts'

interface IntakeOptions {
  readonly resolved: ResolvedOptions
  /** The wall clock, which judges callbacks and their signatures. */
  readonly clock: Clock
  readonly steady: SteadyClock
  readonly logger: Logger
  readonly report: (error: MessagingWebhooksError) => void
  readonly credentials: CredentialsSource
  readonly delivery: Delivery
  /** Has the quarantine. Undefined to keep it in memory. */
  readonly localFile: LocalFile | undefined
  /** The result of `createReceiver`, for subscribers of a channel. */
  readonly receiver: object
  /** Called for every request before it is read. */
  readonly onRequest: () => void
}

export type Intake = ReturnType<typeof createIntake>

export function createIntake(options: IntakeOptions) {
  const { resolved, clock, steady, logger, report, credentials, delivery, receiver, onRequest } = options
  const { proof, toleranceSeconds, networks, maxBodyBytes, bodyTimeoutMs, storeTimeoutMs } = resolved
  const { dedupeKey, readReport, traceContext } = resolved
  const { capabilities, dispatcher, handlers, inbox, reviving } = delivery
  const servers = createServers({ clock: steady, logger })
  const inflight = createInflight({ maxBytes: resolved.maxInflightBytes, maxBodyBytes, clock })
  const bodies = createBodies({ maxBodyBytes, bodyTimeoutMs, inflight, clock })
  const counter = createCounter(reviving, receiver)
  const firsts = createFirstReports(report, logger)
  let underWay = 0

  function accepted(event: NewEvent, admission: Admission): void {
    const { problem, kind } = event.record
    if (problem === 'kind_differs' && admission !== 'duplicate') firsts.misplaced(kind)
    counter.accepted(event, admission)
  }

  /** `close()` waits for counted work. */
  function counted<T>(work: Promise<T>): Promise<T> {
    underWay += 1
    return work.finally(() => {
      underWay -= 1
    })
  }

  const { traceContext: traceOfRequest, ...reading } = guardReading({ dedupeKey, readReport, traceContext, report })
  const { eventOf, proveAgain } = createProvedEvents({
    byProject: credentials.byProject,
    toleranceSeconds,
    networks,
    guessed: firsts.guessed,
    gapTimeoutMs: resolved.ordering.gapTimeoutMs,
    isSendPending: delivery.pending.isPending,
    ...reading,
  })
  const quarantine = createQuarantine<NewEvent>({
    clock,
    report,
    secrets: credentials.secrets,
    limits: resolved.quarantine,
    file: options.localFile,
    looksUpNames: credentials.lookUp !== undefined,
    logger,
    pairsFor: (project) => pairsFor(credentials, project),
    prove: proveAgain,
    async admit(event) {
      const admission = await inbox.admit(event)
      if (admission === 'full') throw new MessagingWebhooksError('store_full')
      accepted(event, admission)
    },
  })
  const probes = createProbes()
  const { receive, clockOffsetSeconds } = createReceive({
    credentials,
    inbox,
    quarantine: quarantine.intake,
    toleranceSeconds,
    eventOf,
    report,
    probes,
    accepted,
    refused: counter.refused,
    findMistake: createMistakeFinder(steady),
    unsigned: firsts.unsigned,
    watchAttempt: (id) => dispatcher.watchAttempt(id, resolved.handlerTimeoutMs),
    answersWhenHandled: resolved.answer === 'handled',
    underWay: counted,
  })

  const intake = {
    policy: proof,
    bodies,
    failed: (error: unknown) => report(asOurs(error, 'internal')),
    receive,
    traceContext: traceOfRequest,
  }

  const node = createNodeIntake({ ...intake, clock: steady, servers, onRequest })

  const calls: Pick<Receiver, 'middleware' | 'receive' | 'doctor'> = {
    middleware(kind, mount) {
      checkNoRequest(kind)
      checkMount('middleware', kind, mount)
      counter.mounted(kind)
      return node.middleware(kind, mount?.proof ?? proof)
    },
    async receive(request) {
      checkRequest(request)
      onRequest()
      return counted(receiveRequest(request, intake))
    },
    doctor: createOwnDoctor({
      credentials,
      probes,
      clock: steady,
      storeTimeoutMs,
      capabilities,
      dispatch: resolved.dispatch,
      isHandled: (type) => (handlers.byType.get(type)?.length ?? 0) > 0,
      askStore: async () => (await inbox.open()).counts(),
    }),
  }

  return {
    calls,
    servers,
    /** Called when the receiver starts to close: servers now wait until no more requests arrive. */
    watchServers: (): void => servers.watch(node.quietMs),
    quarantine,
    counter,
    /** Whether a callback is between its last byte and its response. */
    isReceiving: (): boolean => underWay > 0,
    clockOffsetSeconds,
  }
}
