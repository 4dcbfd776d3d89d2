/** The life of a message from acceptance to its last report. Contract, service.md#states-and-transitions. */
import { setMaxListeners } from 'node:events'
import type { CallbackKind } from '../public/events.ts'
import { pause } from '../runtime/clock.ts'
import type { EmulatorSettings } from './options.ts'
import type { Message, Outcome } from './outcomes.ts'
import { statusPayload } from './payloads.ts'
import { createPending } from './pending.ts'
import type { Projects } from './projects.ts'
import { draw, wholeNumber } from './random.ts'

export type Lifecycle = ReturnType<typeof createLifecycle>

/** A clock may limit its timers, so longer ones are set in steps. */
const FURTHEST_MS = 86_400_000

/** Like the service, `post` does not wait for the answer. */
export function createLifecycle(
  { seed, clock, network }: Pick<EmulatorSettings, 'seed' | 'clock' | 'network'>,
  projects: Projects,
  post: (project: string, kind: CallbackKind, payload: Readonly<Record<string, unknown>>, key: string) => void,
) {
  const pending = createPending()
  const closing = new AbortController()
  // Each message adds a listener; above ten, Node warns of a leak.
  setMaxListeners(0, closing.signal)
  const sleep = (delayMs: number): Promise<void> => pause(clock, delayMs, closing.signal)
  const isClosed = (): boolean => closing.signal.aborted

  function report(message: Message, outcome: Outcome, word: string, step: string): void {
    const project = projects.get(message.project).state()
    const timestamp = Math.floor(clock.now() / 1_000)
    const kind = message.channel.startsWith('premium') ? 'subscription' : 'status'
    const payload = statusPayload({ seed, network, message, outcome, project, word, timestamp })
    post(message.project, kind, payload, `${message.id} ${message.part} ${step}`)
  }

  /** The next step follows after this delay, regardless of the previous callback. */
  function delayOf({ id, part }: Message, step: string): number {
    const [least, most] = network.delayMs
    return wholeNumber(draw(seed, 'delay', id, part, step), least, most)
  }

  async function live(message: Message, outcome: Outcome): Promise<void> {
    const { type, scheduledForMs = 0 } = message
    for (let leftMs = scheduledForMs - clock.now(); leftMs > 0; leftMs = scheduledForMs - clock.now()) {
      if (isClosed()) return
      await sleep(Math.min(leftMs, FURTHEST_MS))
    }
    // Contract, service.md#what-the-service-does: transactional messages are routed on a priority queue.
    await sleep(type === 'transactional' ? network.delayMs[0] : delayOf(message, 'first'))
    for (let failures = 0; failures < (outcome.transientFailures ?? 0) && !isClosed(); failures += 1) {
      // Contract, service.md#what-the-service-does: transient failures of transactional sends are retried.
      if (type !== 'transactional' || failures >= network.retries) {
        report(message, outcome, 'network_failure', 'gave up')
        return
      }
      await sleep(network.retryDelayMs * 2 ** failures)
    }
    for (const [index, word] of outcome.reports.entries()) {
      if (index > 0) await sleep(delayOf(message, `${index - 1}`))
      if (isClosed()) return
      report(message, outcome, word, `${index} ${word}`)
    }
  }

  return {
    begin: (message: Message, outcome: Outcome): void => void pending.track(live(message, outcome)),
    /** Resolves when every message has ended. */
    idle: pending.idle,
    /** Ends every message at once, and those that begin later. */
    close: () => closing.abort(),
  }
}
