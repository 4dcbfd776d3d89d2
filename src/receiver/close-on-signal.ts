/** Closes a receiver when the process is told to end, and sees to it that the process does end. */
import type { Server } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import type { StopTimes } from '../http/stop-server.ts'
import type { Closed } from './shut-down.ts'

/** How `closeOnSignal` takes its time. */
export interface CloseOnSignalOptions {
  /** All must be over then, as with `close()`. Default 10,000. */
  readonly deadlineMs?: number | undefined
  /**
   * How long to go on listening after the signal, for balancers that send new connections until they hear of the end.
   * Default 0.
   */
  readonly listenMs?: number | undefined
  /** How long connections that clients keep alive stay open without a request. Default 2,000. */
  readonly idleMs?: number | undefined
  /** Called when the receiver has closed, and waited for: where the app closes what its handlers use. */
  readonly afterwards?: (() => unknown) | undefined
}

interface CloseOnParts {
  readonly clock: Clock
  readonly stopServers: (given: readonly Server[], times: StopTimes) => void
  readonly close: (options: { readonly deadlineMs: number }) => Promise<Closed>
}

/** A process that nothing holds ends by itself, so that its loggers can write what they have; any other is ended. */
const END_BY_ITSELF_MS = 500

export function closeOnSignal(
  signals: readonly NodeJS.Signals[],
  servers: readonly Server[],
  { deadlineMs = 10_000, listenMs = 0, idleMs = 2_000, afterwards }: CloseOnSignalOptions,
  { clock, stopServers, close }: CloseOnParts,
): () => void {
  let closing = false

  function onSignal(_signal: NodeJS.Signals, number: number): void {
    // Not by the signal itself, which process 1 of a container does not even notice.
    if (closing) process.exit(128 + number)
    closing = true
    void end()
  }

  async function end(): Promise<void> {
    try {
      stopServers(servers, { listenMs, idleMs })
      const { keptAll } = await close({ deadlineMs })
      // Whoever started the process looks at that first.
      if (!keptAll) process.exitCode ??= 1
      await afterwards?.()
    } finally {
      clock.setTimer(() => process.exit(), END_BY_ITSELF_MS)
    }
  }

  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}
