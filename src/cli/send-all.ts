/** Sends many callbacks and counts the answers. */
import { systemClock, type Clock } from '../clock.ts'
import type { Outgoing } from '../emulator/callbacks/outgoing.ts'
import { createSender } from '../emulator/callbacks/sender.ts'
import type { FaultRates } from '../emulator/faults/rates.ts'
import { createAnswers, type Summary } from './answers.ts'
import { startProgress } from './progress.ts'
import type { Terminal } from './terminal.ts'
import { deliveryAsJson, printDelivery } from './trigger-output.ts'
import { createUnexpectedAnswers, type UnexpectedAnswers } from './unexpected-answers.ts'

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
): Promise<{ readonly summary: Summary; readonly unexpected: UnexpectedAnswers; readonly interrupted: boolean }> {
  const clock = systemClock()
  const answers = createAnswers()
  const unexpected = createUnexpectedAnswers()
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
      unexpected.add(delivery)
      if (json) terminal.print(deliveryAsJson(delivery), 'whole')
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
    if (rate !== undefined) await sleep(clock, startedAtMs + (nth * 1_000) / rate - clock.now(), stop.signal)
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
  return { summary: answers.summary(), unexpected, interrupted: stop.signal.aborted }
}

function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const wake = (): void => {
      cancel()
      signal.removeEventListener('abort', wake)
      resolve()
    }
    const cancel = clock.setTimer(wake, ms, true)
    signal.addEventListener('abort', wake)
  })
}
