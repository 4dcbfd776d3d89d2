/** Stops the dispatch: waits for running handlers, aborts them at the deadline, and releases all leases. */
import { withDeadline } from '../runtime/clock.ts'
import { HandlerError, MessagingWebhooksError } from '../public/errors.ts'
import type { Parts } from './parts.ts'
import { releaseLease, makeDueAgain } from './run.ts'
import { nameOf, type Phase, type Work } from './work.ts'

/** How long a closing receiver waits, after its deadline, for the store to release leases. */
const GIVE_BACK_MS = 500

export async function stop(
  parts: Parts,
  phase: { -readonly [K in keyof Phase]: Phase[K] },
  deadlineMs: number,
): Promise<void> {
  const { clock, slots, loop, waiting, settlements } = parts
  phase.isStopped = true
  loop.stop()
  settlements.writeHeld()
  // Events that are not in flight will not be attempted here.
  for (const id of waiting.watchedIds()) if (!slots.has(id)) waiting.attempted(id)
  const untilMs = clock.now() + deadlineMs
  // Events that a pending claim or admission returns are leased, so run them.
  while ((slots.running > 0 || loop.isClaiming || slots.isAnyHeld()) && clock.now() < untilMs)
    await waiting.nextChange(untilMs - clock.now())
  phase.isOver = true
  slots.dropQueue()
  const works = slots.all()
  for (const work of works) {
    work.controller.abort(new MessagingWebhooksError('receiver_closed'))
    // A handler that timed out was reported at that moment.
    if (work.isRunning && !work.isHung) reportCutOff(parts, work)
  }
  const backMs = clock.now() + GIVE_BACK_MS
  const left = works
    .filter((work) => !isEnding(work))
    .map((work) => (work.isStarted ? makeDueAgain : releaseLease)(parts, work))
  // If the store does not answer, the leases expire.
  await withDeadline(clock, GIVE_BACK_MS, Promise.all(left), () => [])
  while (works.some(isEnding) && clock.now() < backMs) await waiting.nextChange(backMs - clock.now())
}

function reportCutOff({ clock, report }: Parts, { claim, begunAtMs }: Work): void {
  const detail = `It had run for ${clock.now() - begunAtMs} ms.`
  report(new HandlerError('handler_cut_off', nameOf(claim), claim.attempt, detail))
}

/** The handlers have ended and the settlement is pending. The store must not get a second one. */
function isEnding({ isStarted, isRunning, isOver }: Work): boolean {
  return isStarted && !isRunning && !isOver
}
