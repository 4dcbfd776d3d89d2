/** One process: inbox, spool and dispatch as `createReceiver` wires them, on a simulated clock, disk and network. */
import { steadyClock, type Clock, type SteadyClock } from '../../src/runtime/clock.ts'
import { createDispatcher } from '../../src/dispatch/dispatcher.ts'
import { createHandlerRegistry, type AnyHandler } from '../../src/dispatch/handlers.ts'
import type { MessagingWebhooksError } from '../../src/public/errors.ts'
import { createInbox, type Inbox } from '../../src/inbox/inbox.ts'
import { openSpools } from '../../src/inbox/spool/spool.ts'
import type { Admission } from '../../src/messages/commands.ts'
import type { Awaitable, MessageStore, StoreCapabilities } from '../../src/inbox/store.ts'
import type { Claim } from '../../src/dispatch/claim.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
import type { FileSystem } from '../../src/disk-log/file-system.ts'
import { quietAvailability } from '../support/inbox.ts'

interface ProcessOptions {
  readonly clock: Clock
  readonly capabilities: StoreCapabilities
  readonly connect: () => Promise<MessageStore>
  /** Undefined for no spool. */
  readonly fs: FileSystem | undefined
  readonly settings: ProcessSettings
  readonly report: (error: MessagingWebhooksError) => void
  readonly handler: (...input: [...Parameters<AnyHandler>, Leasehold]) => unknown
}

interface ProcessSettings {
  readonly concurrency: number
  readonly handlerTimeoutMs: number
  readonly storeTimeoutMs: number
  readonly gapTimeoutMs: number
  readonly attempts: number
}

/** The lease under which an event was dispatched. */
export interface Leasehold {
  readonly claim: Claim
  readonly leaseUntilMs: number
}

export interface Process {
  readonly clock: SteadyClock
  start(): Promise<void>
  admit(event: NewEvent): Awaitable<Admission>
  /** Another process admitted an event. */
  wake(): void
  attempted(id: string): Promise<void>
  replay(id: string): Promise<boolean>
  close(deadlineMs: number): Promise<void>
  unsettled(): Promise<number>
  readonly running: number
  readonly isClosing: boolean
}

const SPOOL_FOLDER = '/var/spool'
const RESERVE_BYTES = 2_048
const SEGMENT_BYTES = 3_000

export function createProcess(options: ProcessOptions): Process {
  const { clock, capabilities, fs, report } = options
  const { concurrency, handlerTimeoutMs, storeTimeoutMs, gapTimeoutMs, attempts } = options.settings
  const steady = steadyClock(clock)
  const handlers = createHandlerRegistry(handlerTimeoutMs)
  const leaseholds = new Map<string, Leasehold>()
  let starting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let underWay = 0

  function leased(claims: readonly Claim[], leaseUntilMs: number): void {
    for (const claim of claims) leaseholds.set(claim.id, { claim, leaseUntilMs })
  }

  /** Records which leases this process received. */
  async function connect(): Promise<MessageStore> {
    const store = await options.connect()
    const { admitAndClaim } = store
    return {
      ...store,
      latestNowMs: store.latestNowMs,
      claim(request) {
        const answer = store.claim(request)
        const given = (result: Awaited<typeof answer>) => {
          leased(result.claims, request.leaseUntilMs)
          return result
        }
        return answer instanceof Promise ? answer.then(given) : given(answer)
      },
      ...(admitAndClaim === undefined
        ? undefined
        : {
            async admitAndClaim(events, request) {
              const result = await admitAndClaim(events, request)
              leased(result.claims, request.leaseUntilMs)
              return result
            },
          }),
    }
  }

  const availability = quietAvailability(report)
  const dispatcher = createDispatcher({
    clock: steady,
    handlers,
    retry: { attempts, initialDelayMs: 200, maxDelayMs: 2_000 },
    concurrency,
    handlerTimeoutMs,
    storeTimeoutMs,
    shared: capabilities.shared,
    reviving: {
      clock,
      schemas: {},
      subscriptionType: undefined,
      schemaTimeoutMs: handlerTimeoutMs,
    },
    report,
    availability,
    attemptMessage: (event, { attempt, replay }) => ({ receiver: {}, event, attempt, replay }),
    unhandled: () => {},
    secrets: () => [],
  })
  const inbox: Inbox<object> = createInbox<object>(
    { capabilities, open: connect },
    {
      clock: steady,
      storeTimeoutMs,
      gapTimeoutMs,
      report,
      availability,
      claims: true,
      openSpools:
        fs === undefined
          ? undefined
          : () => openSpools(SPOOL_FOLDER, report, { fs, reserveBytes: RESERVE_BYTES, segmentBytes: SEGMENT_BYTES }),
      onWork() {
        startUnasked()
        dispatcher.wake()
      },
      admitBatch: dispatcher.admit,
    },
  )
  handlers.addAny((event, context) => {
    const leasehold = leaseholds.get(event.id)
    if (leasehold === undefined) throw new Error('This process never leased the event.')
    return options.handler(event, context, leasehold)
  })

  async function open(): Promise<void> {
    dispatcher.start(await inbox.open())
  }

  function start(): Promise<void> {
    starting ??= open().catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting
  }

  function startUnasked(): void {
    if (starting === undefined && closing === undefined) start().catch(() => {})
  }

  /** As in shut-down.ts, without its check of requests in flight, which would use up all steps. */
  async function shutDown(deadlineMs: number): Promise<void> {
    const untilMs = steady.now() + deadlineMs
    if (!capabilities.durable) await dispatcher.drain(inbox.unsettled, deadlineMs, { waitForHung: false })
    await dispatcher.stop(Math.max(0, untilMs - steady.now()))
    while (underWay > 0 && steady.now() < untilMs) await new Promise<void>((resolve) => steady.setTimer(resolve, 20))
    await inbox.close()
  }

  return {
    clock: steady,
    start,
    admit(event) {
      startUnasked()
      const admission = inbox.admit(event)
      if (!(admission instanceof Promise)) return admission
      underWay += 1
      return admission.finally(() => {
        underWay -= 1
      })
    },
    wake() {
      startUnasked()
      dispatcher.wake()
    },
    attempted: (id) => dispatcher.watchAttempt(id, handlerTimeoutMs).over,
    async replay(id) {
      const store = await inbox.open()
      const found = await store.resolve(id, 'replay', steady.now())
      dispatcher.wake()
      return found
    },
    close(deadlineMs) {
      closing ??= shutDown(deadlineMs)
      return closing
    },
    async unsettled() {
      return inbox.unsettled()
    },
    get running() {
      return dispatcher.running
    },
    get isClosing() {
      return closing !== undefined
    },
  }
}
