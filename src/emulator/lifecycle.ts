/** The life of a message from acceptance to its last report. Contract, service.md#states-and-transitions. */
import type { Clock } from '../runtime/clock.ts'
import type { CallbackKind } from '../public/events.ts'
import type { Journal } from './journal.ts'
import type { NetworkProfile } from './options.ts'
import type { Message, Outcome } from './outcomes.ts'
import { statusPayload } from './payloads.ts'
import type { Projects } from './projects.ts'
import { draw, wholeNumber, type Seed } from './random.ts'

interface LifecycleParts {
  readonly seed: Seed
  readonly clock: Pick<Clock, 'now' | 'setTimer'>
  readonly network: NetworkProfile
  readonly projects: Projects
  readonly journal: Pick<Journal, 'updateOtp'>
  /** Posts a callback. The lifecycle does not wait for the answer, like the service. */
  readonly post: (project: string, kind: CallbackKind, payload: Readonly<Record<string, unknown>>, key: string) => void
}

export type Lifecycle = ReturnType<typeof createLifecycle>

export function createLifecycle({ seed, clock, network, projects, journal, post }: LifecycleParts) {
  const timers = createTimers(clock)

  function report(message: Message, outcome: Outcome, word: string, step: string): void {
    journal.updateOtp(message.id, word)
    const project = projects.get(message.project).state()
    const timestamp = Math.floor(clock.now() / 1_000)
    const kind = message.channel.startsWith('premium') ? 'subscription' : 'status'
    const payload = statusPayload({ seed, network, message, outcome, project, word, timestamp })
    post(message.project, kind, payload, `${message.id} ${message.part} ${step}`)
  }

  /** The next step follows after this delay, regardless of the previous callback. */
  function afterDelay({ id, part }: Message, step: string, run: () => void): void {
    const [least, most] = network.delayMs
    timers.after(wholeNumber(draw(seed, 'delay', id, part, step), least, most), run)
  }

  /** Contract, service.md#what-the-service-does: transient failures of transactional sends are retried. */
  function attempt(message: Message, outcome: Outcome, failuresBefore: number): void {
    const fails = failuresBefore < (outcome.transientFailures ?? 0)
    const mayRetry = message.type === 'transactional' && failuresBefore < network.retries
    if (!fails) reportFrom(message, outcome, 0)
    else if (mayRetry) {
      journal.updateOtp(message.id, 'retrying')
      timers.after(network.retryDelayMs * 2 ** failuresBefore, () => attempt(message, outcome, failuresBefore + 1))
    } else report(message, outcome, 'network_failure', 'gave up')
  }

  function reportFrom(message: Message, outcome: Outcome, index: number): void {
    const word = outcome.reports[index]
    if (word === undefined) return
    report(message, outcome, word, `${index} ${word}`)
    if (index + 1 < outcome.reports.length)
      afterDelay(message, `${index}`, () => reportFrom(message, outcome, index + 1))
  }

  return {
    begin(message: Message, outcome: Outcome): void {
      const ask = (): void => attempt(message, outcome, 0)
      timers.at(message.scheduledForMs ?? clock.now(), () => {
        // Contract, service.md#what-the-service-does: transactional messages are routed on a priority queue.
        if (message.type === 'transactional') timers.after(network.delayMs[0], ask)
        else afterDelay(message, 'first', ask)
      })
    },
    /** Resolves when every message has ended. */
    idle: timers.idle,
    /** Cancels all timers and starts no more. */
    close: timers.close,
  }
}

/** A clock may limit its timers, so longer ones are set in steps. */
const FURTHEST_MS = 86_400_000

/** Timers that can be awaited or cancelled together. */
function createTimers(clock: Pick<Clock, 'now' | 'setTimer'>) {
  const waiting = new Set<() => void>()
  const idle: (() => void)[] = []
  let closed = false

  function resolveIdle(): void {
    if (waiting.size === 0) for (const resolve of idle.splice(0)) resolve()
  }

  function after(delayMs: number, run: () => void): void {
    if (closed) return
    const fire = (): void => {
      waiting.delete(cancel)
      // `run` may set further timers: report idle only after it.
      run()
      resolveIdle()
    }
    const cancel = clock.setTimer(fire, delayMs, true)
    waiting.add(cancel)
  }

  /** Runs at a time in milliseconds since the Unix epoch, however distant; at once if it has passed. */
  function at(timeMs: number, run: () => void): void {
    const leftMs = timeMs - clock.now()
    if (leftMs <= 0) run()
    else if (leftMs <= FURTHEST_MS) after(leftMs, run)
    else after(FURTHEST_MS, () => at(timeMs, run))
  }

  return {
    after,
    at,
    idle: () => (waiting.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => idle.push(resolve))),
    close(): void {
      closed = true
      for (const cancel of waiting) cancel()
      waiting.clear()
      resolveIdle()
    },
  }
}
