/** What closing a receiver takes, in its order: dispatch stops first, taking last. */
import { pause, type Clock } from '../runtime/clock.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { Awaitable, StoreCounts } from '../inbox/store.ts'
import type { Logger } from '../runtime/logger.ts'

interface Parts {
  readonly clock: Clock
  readonly logger: Logger
  readonly report: (error: MessagingWebhooksError, fields: object) => void
  readonly servers: { readonly areListening: boolean; closed(timeoutMs: number): Promise<boolean> }
  readonly watchServers: () => void
  readonly quarantine: { stop(): void }
  readonly dispatcher: {
    drain(
      unsettled: () => Awaitable<number>,
      deadlineMs: number,
      options: { readonly waitForHung: boolean },
    ): Promise<boolean>
    stop(deadlineMs: number): Promise<void>
  }
  readonly inbox: {
    unsettled(): Awaitable<number>
    known(): Promise<StoreCounts | undefined>
    close(): Promise<void>
  }
  /** What the store holds is still there when the process is not. */
  readonly isDurable: boolean
  /** True while a callback is on its way from its last byte to its answer. */
  readonly isReceiving: () => boolean
}

/** How often to look whether a request is answered. */
const LOOK_MS = 5

/** What became of it. */
export interface Closed {
  /** Nothing that was answered 204 ends with the process. */
  readonly keptAll: boolean
}

export function createShutDown(parts: Parts): (deadlineMs: number) => Promise<Closed> {
  const { clock, logger, report, servers, quarantine, dispatcher, inbox } = parts

  const turn = (): Promise<void> => new Promise((resolve) => clock.soon(resolve))

  /** Says so at once where it will likely be what somebody forgot; whoever stops them in the same breath did not. */
  async function areLeftListening(): Promise<boolean> {
    await turn()
    if (!servers.areListening) return false
    logger.warn(
      { code: 'server_still_open' },
      'close() was called while the server still listens. Callbacks are taken until half a second has passed without one; ' +
        'those that come later are answered 503 and lost. Call server.close() before, or let ' +
        "receiver.closeOnSignal('SIGTERM', server) do both.",
    )
    return true
  }

  async function waitForServers(leftMs: number, wasSaid: boolean): Promise<void> {
    if ((await servers.closed(leftMs)) || wasSaid) return
    logger.warn(
      { code: 'server_still_open' },
      'The receiver was closed while connections of its server were still open; callbacks that arrive on them are answered ' +
        '503 and lost. Give close() more time (`deadlineMs`), or end the connections with server.closeAllConnections().',
    )
  }

  /** Of a store that keeps nothing: whatever is in it now ends with it. */
  async function keptAll(): Promise<boolean> {
    const unsettled = (await inbox.known())?.unsettled
    if (unsettled === 0) return true
    const many = unsettled === 1 ? '1 event was lost' : `${unsettled} events were lost`
    const events =
      unsettled === undefined
        ? 'It does not say how many were lost.'
        : `${many}, those included whose handlers still ran.`
    report(new MessagingWebhooksError('events_lost', events), unsettled === undefined ? {} : { lost: unsettled })
    return false
  }

  return async (deadlineMs) => {
    const untilMs = clock.now() + deadlineMs
    const leftMs = (): number => Math.max(0, untilMs - clock.now())
    quarantine.stop()
    parts.watchServers()
    const leftListening = areLeftListening()
    // What waits in memory ends with the process, so it is handed over first; what is on a disk can wait.
    if (!parts.isDurable) {
      await leftListening
      await servers.closed(leftMs())
      await dispatcher.drain(inbox.unsettled, leftMs(), { waitForHung: false })
    }
    await dispatcher.stop(leftMs())
    await waitForServers(leftMs(), await leftListening)
    while (parts.isReceiving() && leftMs() > 0) await pause(clock, LOOK_MS)
    const closed = { keptAll: parts.isDurable || (await keptAll()) }
    await inbox.close()
    return closed
  }
}
