/** Sends many callbacks and counts the answers. */
import cliProgress from 'cli-progress'
import { pause, systemClock } from '../runtime/clock.ts'
import type { Outgoing } from '../emulator/callbacks/outgoing.ts'
import { createSender } from '../emulator/callbacks/sender.ts'
import type { FaultRates } from '../emulator/faults.ts'
import { createAnswers, deliveryAsJson, printDelivery, type Answers } from './answers.ts'
import type { Terminal } from './terminal.ts'

interface RunOptions {
  readonly count: number
  /** Callbacks a second. */
  readonly rate?: number
  readonly seed: string
  /** For an answer, in milliseconds. */
  readonly timeout: number
  readonly json?: true
}

/** More callbacks than this do not wait for their answers at once, so that memory does not grow with the count. */
const MOST_UNDER_WAY = 512

/** Sends them all, at their rate, and counts the answers. Ctrl+C ends it early. */
export async function sendAll(
  outgoing: (nth: number) => Outgoing,
  faults: FaultRates,
  { count, rate, seed, timeout, json }: RunOptions,
  terminal: Terminal,
): Promise<{ readonly answers: Pick<Answers, 'summary' | 'explain'>; readonly interrupted: boolean }> {
  const clock = systemClock()
  const answers = createAnswers()
  const stop = new AbortController()
  const sender = createSender({
    faults,
    seed,
    nowMs: () => clock.now(),
    timeoutMs: timeout,
    onDelivery(delivery) {
      // What was cut at Ctrl+C says nothing of the receiver.
      if (stop.signal.aborted) return
      answers.add(delivery)
      if (json) terminal.printJson(deliveryAsJson(delivery))
      else if (count === 1) printDelivery(delivery, terminal)
    },
  })
  const interrupt = (): void => {
    stop.abort()
    void sender.close()
  }
  process.once('SIGINT', interrupt)
  const progress = startProgress(count, process.stderr, terminal.isInteractive && count > 1 && !json)
  const underWay = new Set<Promise<unknown>>()
  const startedAtMs = clock.now()
  let done = 0
  for (let nth = 0; nth < count && !stop.signal.aborted; nth += 1) {
    const waitMs = rate === undefined ? 0 : startedAtMs + (nth * 1_000) / rate - clock.now()
    if (waitMs > 0) await pause(clock, waitMs, stop.signal)
    const sending = sender.send(outgoing(nth)).then(() => {
      underWay.delete(sending)
      done += 1
      progress.to(done)
    })
    underWay.add(sending)
    if (underWay.size >= MOST_UNDER_WAY) await Promise.race(underWay)
  }
  await Promise.all(underWay)
  progress.stop()
  process.off('SIGINT', interrupt)
  await sender.close()
  return { answers, interrupted: stop.signal.aborted }
}

interface Progress {
  /** So many are done. */
  to(done: number): void
  stop(): void
}

/** A progress bar on `stream`; nothing if it is no terminal. */
export function startProgress(total: number, stream: NodeJS.WriteStream, isInteractive: boolean): Progress {
  if (!isInteractive) return { to() {}, stop() {} }
  const bar = new cliProgress.SingleBar({
    stream,
    format: '{bar} {percentage} %  {value} of {total}  {duration_formatted}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: Math.max(10, Math.min(40, stream.columns - 40)),
    hideCursor: true,
    clearOnComplete: true,
    // Signals are the command's own.
    gracefulExit: false,
  })
  bar.start(total, 0)
  return { to: (done) => bar.update(done), stop: () => bar.stop() }
}
