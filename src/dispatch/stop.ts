/** The end of delivery: what runs is waited for, then aborted, and nothing stays leased. */
import { withDeadline } from '../runtime/clock.ts'
import { HandlerError, MessagingWebhooksError } from '../public/errors.ts'
import type { Parts } from './parts.ts'
import { giveBack, leaveToOthers } from './run.ts'
import { nameOf, type Phase, type Work } from './work.ts'

/** How long a receiver that closes waits, after its deadline, until the store has taken back what was not begun. */
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
  // What is not in flight now will not be attempted here any more.
  for (const id of waiting.watchedIds()) if (!slots.has(id)) waiting.attempted(id)
  const untilMs = clock.now() + deadlineMs
  // What a claim or an admission under way brings is leased already, so it runs.
  while ((slots.running > 0 || loop.isClaiming || slots.isAnyHeld) && clock.now() < untilMs)
    await waiting.nextChange(untilMs - clock.now())
  phase.isOver = true
  slots.empty()
  const works = slots.all()
  for (const work of works) {
    work.controller.abort(new MessagingWebhooksError('receiver_closed'))
    // One that hung was reported when its time was over.
    if (work.isRunning && !work.isHung) reportCutOff(parts, work)
  }
  const backMs = clock.now() + GIVE_BACK_MS
  const left = works
    .filter((work) => !isEnding(work))
    .map((work) => (work.isBegun ? leaveToOthers : giveBack)(parts, work))
  // A store that does not answer lets their leases run out.
  await withDeadline(clock, GIVE_BACK_MS, Promise.all(left), () => [])
  while (works.some(isEnding) && clock.now() < backMs) await waiting.nextChange(backMs - clock.now())
}

function reportCutOff({ clock, report }: Parts, { claim, begunAtMs }: Work): void {
  const detail = `It had run for ${clock.now() - begunAtMs} ms.`
  report(new HandlerError('handler_cut_off', nameOf(claim), claim.attempt, detail))
}

/** Its handlers have ended, and the store is being told: it must not be told anything else. */
function isEnding({ isBegun, isRunning, isOver }: Work): boolean {
  return isBegun && !isRunning && !isOver
}
