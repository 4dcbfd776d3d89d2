/** What closing a receiver takes, in its order: dispatch stops first, taking last. */
import type { Clock } from './clock.ts'
import type { Logger } from './logger.ts'

interface Parts {
  readonly clock: Clock
  readonly logger: Logger
  readonly servers: { closed(timeoutMs: number): Promise<boolean> }
  readonly quarantine: { stop(): void }
  readonly dispatcher: {
    drain(deadlineMs: number, options: { readonly waitForHung: boolean }): Promise<boolean>
    stop(deadlineMs: number): Promise<void>
  }
  readonly inbox: { close(): Promise<void> }
  /** What the store holds is still there when the process is not. */
  readonly isDurable: boolean
  /** True while a request is between its first byte and its answer. */
  readonly isReceiving: () => boolean
}

export function createShutDown(parts: Parts): (deadlineMs: number) => Promise<void> {
  const { clock, logger, servers, quarantine, dispatcher, inbox } = parts

  async function handOverBacklog(leftMs: () => number): Promise<void> {
    await servers.closed(leftMs())
    if (await dispatcher.drain(leftMs(), { waitForHung: false })) return
    logger.error(
      { code: 'events_lost' },
      'The receiver was closed before all events were settled, and its store keeps nothing: what waited is lost.',
    )
  }

  return async (deadlineMs) => {
    const untilMs = clock.now() + deadlineMs
    const leftMs = (): number => Math.max(0, untilMs - clock.now())
    quarantine.stop()
    // What waits in memory ends with the process, so it is handed over first; what is on a disk can wait.
    if (!parts.isDurable) await handOverBacklog(leftMs)
    await dispatcher.stop(leftMs())
    if (!(await servers.closed(leftMs())))
      logger.warn(
        { code: 'server_still_open' },
        'The receiver was closed while its server was open; callbacks that arrive now are lost. Call server.close() first.',
      )
    while (parts.isReceiving() && leftMs() > 0) await new Promise<void>((resolve) => clock.soon(resolve))
    await inbox.close()
  }
}
