/** Closes a receiver on a signal, and makes sure that the process ends. */
import type { Server } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import type { StopTimes } from '../http/servers.ts'
import type { Closed } from './shut-down.ts'

/** Timing of `closeOnSignal`. */
export interface CloseOnSignalOptions {
  /** Maximum duration of the shutdown, as for `close()`. Default 10,000. */
  readonly deadlineMs?: number | undefined
  /** How long to keep listening after the signal, for load balancers that still send new connections. Default 0. */
  readonly listenMs?: number | undefined
  /** How long idle keep-alive connections stay open. Default 2,000. */
  readonly idleMs?: number | undefined
  /** Called and awaited after the receiver has closed. Close the resources of your handlers here. */
  readonly afterwards?: (() => unknown) | undefined
}

interface CloseOnParts {
  readonly clock: Clock
  readonly stopServers: (given: readonly Server[], times: StopTimes) => void
  readonly close: (options: { readonly deadlineMs: number }) => Promise<Closed>
}

/** A process without pending work ends on its own, so that loggers can flush. `closeOnSignal` ends any other after this. */
const END_BY_ITSELF_MS = 500

export function closeOnSignal(
  signals: readonly NodeJS.Signals[],
  servers: readonly Server[],
  { deadlineMs = 10_000, listenMs = 0, idleMs = 2_000, afterwards }: CloseOnSignalOptions,
  { clock, stopServers, close }: CloseOnParts,
): () => void {
  let closing = false

  function onSignal(_signal: NodeJS.Signals, number: number): void {
    // Do not resend the signal: process 1 of a container ignores it.
    if (closing) process.exit(128 + number)
    closing = true
    void end()
  }

  async function end(): Promise<void> {
    try {
      stopServers(servers, { listenMs, idleMs })
      const { keptAll } = await close({ deadlineMs })
      // Set the exit code before `afterwards`, which may fail.
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
