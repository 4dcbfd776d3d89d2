/** The steps of closing a receiver, in order: dispatch stops first, receiving last. A signal can start them. */
import type { Server } from 'node:net'
import { z } from 'zod'
import { checkName, checkOptions, describe, functionLike, hasMethods, numberFrom } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, nextTurn, pause, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StopTimes } from '../http/servers.ts'
import type { Delivery } from './delivery.ts'
import type { Intake } from './intake.ts'
import { beforeEnd, SIGNALS } from './signals.ts'
import type { CloseOnSignalOptions } from './surface.ts'

interface Parts {
  readonly clock: Clock
  readonly logger: Logger
  readonly report: (error: MessagingWebhooksError, fields: object) => void
  readonly delivery: Delivery
  readonly intake: Intake
}

/** Polling interval while requests are being answered. */
const LOOK_MS = 5

export interface Closed {
  /** Whether no event answered with 204 was lost. */
  readonly keptAll: boolean
}

export function createShutDown(parts: Parts): (deadlineMs: number) => Promise<Closed> {
  const { clock, logger, report, delivery, intake } = parts
  const { dispatcher, inbox } = delivery
  const { servers } = intake
  /** Whether the store survives the process. */
  const isDurable = delivery.capabilities.durable

  /** Warns early about a server that the app probably forgot to close. The app may still close it in the same tick. */
  async function areLeftListening(): Promise<boolean> {
    await nextTurn(clock)
    if (!servers.areListening) return false
    logger.warn(
      { code: 'server_still_open' },
      'close() was called while the server is still listening. Callbacks are accepted until half a second passes without ' +
        'one; later ones are answered 503 and lost. Call server.close() first, or use ' +
        "receiver.closeOnSignal('SIGTERM', server).",
    )
    return true
  }

  async function waitForServers(leftMs: number, wasSaid: boolean): Promise<void> {
    if ((await servers.closed(leftMs)) || wasSaid) return
    logger.warn(
      { code: 'server_still_open' },
      'The receiver closed while connections of its server were still open. Callbacks on them are answered ' +
        '503 and lost. Give close() more time (`deadlineMs`), or end the connections with server.closeAllConnections().',
    )
  }

  /** A store in memory loses its unsettled events with the process. */
  async function keptAll(): Promise<boolean> {
    const unsettled = (await inbox.known())?.unsettled
    if (unsettled === 0) return true
    const many = unsettled === 1 ? '1 event was lost' : `${unsettled} events were lost`
    const events =
      unsettled === undefined
        ? 'The number of lost events is unknown.'
        : `${many}, including those with running handlers.`
    report(new MessagingWebhooksError('events_lost', events), unsettled === undefined ? {} : { lost: unsettled })
    return false
  }

  return async (deadlineMs) => {
    const untilMs = clock.now() + deadlineMs
    const leftMs = (): number => Math.max(0, untilMs - clock.now())
    delivery.stopSweep()
    intake.quarantine.stop()
    intake.watchServers()
    const leftListening = areLeftListening()
    // Events in memory end with the process, so dispatch them first. Events on a disk can wait.
    if (!isDurable) {
      await leftListening
      await servers.closed(leftMs())
      await dispatcher.drain(inbox.unsettled, leftMs(), { waitForHung: false })
    }
    await dispatcher.stop(leftMs())
    await waitForServers(leftMs(), await leftListening)
    while (intake.isReceiving() && leftMs() > 0) await pause(clock, LOOK_MS)
    const closed = { keptAll: isDurable || (await keptAll()) }
    await inbox.close()
    return closed
  }
}

const milliseconds = numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional()
const closeOnSignalOptions = z.strictObject({
  deadlineMs: milliseconds,
  listenMs: milliseconds,
  idleMs: milliseconds,
  afterwards: functionLike.optional(),
})

interface CloseOnParts {
  readonly stopServers: (given: readonly Server[], times: StopTimes) => void
  readonly close: (options: { readonly deadlineMs: number }) => Promise<Closed>
  /** Adds a listener that runs once the receiver has closed. */
  readonly onClosed: (listener: () => void) => unknown
}

export function closeOnSignal(
  signals: readonly NodeJS.Signals[],
  servers: readonly Server[],
  options: CloseOnSignalOptions | undefined,
  { stopServers, close, onClosed }: CloseOnParts,
): () => void {
  checkSignals(signals)
  checkServers(servers)
  checkOptions(closeOnSignalOptions, options, 'closeOnSignal')
  const { deadlineMs = 10_000, listenMs = 0, idleMs = 2_000, afterwards } = options ?? {}
  const remove = beforeEnd(signals, async () => {
    stopServers(servers, { listenMs, idleMs })
    const { keptAll } = await close({ deadlineMs })
    // Set the exit code before `afterwards`, which may fail.
    if (!keptAll) process.exitCode ??= 1
    await afterwards?.()
  })
  onClosed(remove)
  return remove
}

function checkSignals(signals: readonly unknown[]): void {
  if (signals.length === 0)
    throw new OptionsError("closeOnSignal: no signal is given; expected at least one, such as 'SIGTERM'.")
  for (const signal of signals) checkName('closeOnSignal', 'signal', signal, SIGNALS)
}

function checkServers(servers: readonly (Server | undefined)[]): void {
  for (const server of servers)
    if (!hasMethods(server, ['listen', 'close', 'once']))
      throw new OptionsError(
        `closeOnSignal: a server is ${describe(server)}; expected the result of app.listen() or http.createServer().`,
      )
}
