/** One process: inbox, spool and dispatch as `createReceiver` wires them, on a simulated clock, disk and network. */
import { steadyClock, type Clock, type SteadyClock } from '../../src/runtime/clock.ts'
import { createDispatcher } from '../../src/dispatch/dispatcher.ts'
import { createHandlerRegistry, type AnyHandler } from '../../src/dispatch/handlers.ts'
import type { MessagingWebhooksError } from '../../src/public/errors.ts'
import { createInbox, type Inbox } from '../../src/inbox/inbox.ts'
import type { Awaitable, MessageStore, StoreCapabilities, StoreHost } from '../../src/inbox/store.ts'
import type { Admission, Admitted, AnswerOf, Command, Granted } from '../../src/messages/commands.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
import type { LocalFile } from '../../src/local-file/local-file.ts'
import { quietAvailability } from '../support/inbox.ts'
import type { Leasehold } from './ledger.ts'

interface ProcessOptions {
  readonly clock: Clock
  readonly capabilities: StoreCapabilities
  readonly connect: (host: StoreHost) => Promise<MessageStore>
  /** A clock that nothing sets. */
  readonly elapsedMs: () => number
  /** Undefined for no spool. */
  readonly localFile: LocalFile | undefined
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

export interface Process {
  readonly clock: SteadyClock
  start(): Promise<void>
  admit(event: NewEvent): Awaitable<Admission>
  /** Another process admitted an event. */
  wake(): void
  attempted(id: string): Promise<void>
  replay(letter: { readonly key: string; readonly id: string }): Promise<boolean>
  close(deadlineMs: number): Promise<void>
  unsettled(): Promise<number>
  readonly running: number
  readonly isClosing: boolean
}

export function createProcess(options: ProcessOptions): Process {
  const { clock, capabilities, localFile, report } = options
  const { concurrency, handlerTimeoutMs, storeTimeoutMs, gapTimeoutMs, attempts } = options.settings
  const steady = steadyClock(clock)
  const handlers = createHandlerRegistry(handlerTimeoutMs)
  const leaseholds = new Map<string, Leasehold>()
  let starting: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let underWay = 0

  function leased<C extends Command>(commands: readonly C[], answers: readonly AnswerOf<C>[], askedMs: number) {
    for (const [index, command] of commands.entries()) {
      const forMs = command.do === 'lease' ? command.forMs : command.do === 'admit' ? command.leaseForMs : undefined
      if (forMs === undefined) continue
      // Each answer is that of the command at its place.
      const answer = answers[index] as Granted | Admitted | undefined
      const granted = answer !== undefined && 'admission' in answer ? answer.granted : answer
      if (granted !== undefined)
        leaseholds.set(granted.id, { messageKey: command.key, granted, leaseUntilMs: askedMs + forMs })
    }
    return answers
  }

  /** Records which leases this process received. */
  async function connect(host: StoreHost): Promise<MessageStore> {
    const store = await options.connect(host)
    return {
      ...store,
      run(commands) {
        const askedMs = steady.now()
        const answers = store.run(commands)
        return answers instanceof Promise
          ? answers.then((given) => leased(commands, given, askedMs))
          : leased(commands, answers, askedMs)
      },
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
      elapsedMs: options.elapsedMs,
      host: { claims: true, onLost: dispatcher.lose, inFlight: dispatcher.tokenOf },
      localFile,
      secrets: () => [],
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
    await localFile?.close()
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
    async replay({ key, id }) {
      const store = await inbox.open()
      const [found] = await store.run([{ do: 'resolve', key, id, as: 'replay' }])
      dispatcher.wake()
      return found === true
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
