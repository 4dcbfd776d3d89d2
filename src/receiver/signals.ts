/** The signals that end the process. All receivers share one listener a signal: Node warns about a leak from eleven on. */
import { constants } from 'node:os'
import { systemClock } from '../runtime/clock.ts'

/** Valid names, even on a system that never sends the signal, except those that no process can handle. */
export const SIGNALS = [
  ...new Set([...Object.keys(constants.signals), 'SIGBREAK', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2']),
].filter((signal) => signal !== 'SIGKILL' && signal !== 'SIGSTOP')

/** A process without pending work ends on its own, so that loggers can flush. Any other ends this long after the last step. */
const END_BY_ITSELF_MS = 500

/** What to do before the process ends. */
type Step = () => Promise<void>

const stepsOf = new Map<NodeJS.Signals, Set<Step>>()
let isEnding = false

/** At the first of these signals: takes this step and those of other callers, then ends the process. Returns its removal. */
export function beforeEnd(signals: readonly NodeJS.Signals[], step: Step): () => void {
  for (const signal of signals) {
    const steps = stepsOf.get(signal) ?? new Set()
    if (steps.size === 0) process.on(signal, onSignal)
    stepsOf.set(signal, steps.add(step))
  }
  return () => {
    // The second signal must still end the process.
    if (isEnding) return
    for (const signal of signals) {
      const steps = stepsOf.get(signal)
      if (steps?.delete(step) === true && steps.size === 0) process.off(signal, onSignal)
    }
  }
}

function onSignal(signal: NodeJS.Signals, number: number): void {
  // Do not resend the signal: process 1 of a container ignores it.
  if (isEnding) process.exit(128 + number)
  isEnding = true
  void end([...(stepsOf.get(signal) ?? [])])
}

/** Rejects, which ends the process with its error, if a step failed. */
async function end(steps: readonly Step[]): Promise<void> {
  const outcomes = await Promise.allSettled(steps.map((step) => step()))
  systemClock().setTimer(() => process.exit(), END_BY_ITSELF_MS)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
