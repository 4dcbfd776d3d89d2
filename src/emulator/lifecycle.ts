/** A message's way from accepted to its last report. Contract, service.md#states-and-transitions. */
import type { Clock } from '../clock.ts'
import type { CallbackKind } from '../events.ts'
import type { Seed } from './faults/draws.ts'
import type { Message } from './message.ts'
import type { NetworkProfile } from './network.ts'
import type { OtpLog } from './otp-log.ts'
import type { Outcome } from './outcomes.ts'
import { drawBetween } from './random.ts'
import { statusPayload } from './status-payloads.ts'
import type { Projects } from './projects.ts'
import type { Timers } from './timers.ts'

interface LifecycleParts {
  readonly seed: Seed
  readonly clock: Pick<Clock, 'now'>
  readonly network: NetworkProfile
  readonly projects: Projects
  readonly otpLog: OtpLog
  readonly timers: Timers
  /** Posts a callback; the lifecycle does not wait for its answer, and neither does the service. */
  readonly post: (project: string, kind: CallbackKind, payload: Readonly<Record<string, unknown>>, key: string) => void
}

export interface Lifecycle {
  begin(message: Message, outcome: Outcome): void
}

export function createLifecycle({ seed, clock, network, projects, otpLog, timers, post }: LifecycleParts): Lifecycle {
  function report(message: Message, outcome: Outcome, word: string, step: string): void {
    otpLog.update(message.id, word)
    const project = projects.get(message.project).state()
    const timestamp = Math.floor(clock.now() / 1_000)
    const kind = isPremium(message) ? 'subscription' : 'status'
    const payload = statusPayload({ seed, network, message, outcome, project, word, timestamp })
    post(message.project, kind, payload, `${message.id} ${message.part} ${step}`)
  }

  /** Contract, service.md#what-the-service-does: transactional messages are routed on a priority queue. */
  function enterQueue(message: Message, run: () => void): void {
    if (message.type === 'transactional') timers.after(network.delayMs[0], run)
    else afterDelay(message, 'first', run)
  }

  /** The next step is due so long after the last one, whatever became of that one's callback. */
  function afterDelay(message: Message, step: string, run: () => void): void {
    timers.after(drawBetween(network.delayMs, seed, 'delay', message.id, message.part, step), run)
  }

  /** The carrier is asked; `attempt` counts from 0. Contract: transient failures of transactional sends are retried. */
  function attempt(message: Message, outcome: Outcome, failuresBefore: number): void {
    const fails = failuresBefore < (outcome.transientFailures ?? 0)
    const mayRetry = message.type === 'transactional' && failuresBefore < network.retries
    if (!fails) reportFrom(message, outcome, 0)
    else if (mayRetry) {
      otpLog.update(message.id, 'retrying')
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
    begin(message, outcome) {
      const start = (): void => enterQueue(message, () => attempt(message, outcome, 0))
      if (message.scheduledForMs === undefined) start()
      else timers.at(message.scheduledForMs, start)
    },
  }
}

function isPremium({ channel }: Message): boolean {
  return channel === 'premium' || channel === 'premium-subscription'
}
