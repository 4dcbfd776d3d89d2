/** The end of delivery: what runs is waited for, then aborted, and nothing stays leased. */
import { withDeadline } from '../clock.ts'
import { HandlerError, MessagingWebhooksError } from '../errors.ts'
import { nameOf } from './attempt.ts'
import { allInHand, isInHand, nextChange, tellOfAttempt } from './capacity.ts'
import { takeLook } from './claim-loop.ts'
import { giveBack, leaveToOthers } from './run.ts'
import type { DispatchState, Work } from './state.ts'

/** How long a receiver that closes waits, after its deadline, until the store has taken back what was not begun. */
const GIVE_BACK_MS = 500

export async function stop(state: DispatchState, deadlineMs: number): Promise<void> {
  const { clock } = state
  state.stopped = true
  state.cancelTimer()
  takeLook(state)
  for (const hold of state.holds) hold.writeNow()
  // What is not in our hands now will not be attempted here any more.
  for (const id of state.waitingForAttempt.keys()) if (!isInHand(state, id)) tellOfAttempt(state, id)
  const untilMs = clock.now() + deadlineMs
  // What a claim or an admission under way brings is leased already, so it runs.
  while ((state.atWork > 0 || state.isClaiming || state.roomHeld.length > 0) && clock.now() < untilMs)
    await nextChange(state, untilMs - clock.now())
  state.over = true
  state.waitingForSlot = []
  const works = allInHand(state)
  for (const work of works) {
    work.controller.abort(new MessagingWebhooksError('receiver_closed'))
    // One that hung was reported when its time was over.
    if (work.isRunning && !work.isHung) reportCutOff(state, work)
  }
  const backMs = clock.now() + GIVE_BACK_MS
  const left = works
    .filter((work) => !isEnding(work))
    .map((work) => (work.isBegun ? leaveToOthers : giveBack)(state, work))
  // A store that does not answer lets their leases run out.
  await withDeadline(clock, GIVE_BACK_MS, Promise.all(left), () => [])
  while (works.some(isEnding) && clock.now() < backMs) await nextChange(state, backMs - clock.now())
}

function reportCutOff({ clock, report }: DispatchState, { claim, begunAtMs }: Work): void {
  const detail = `It had run for ${clock.now() - begunAtMs} ms.`
  report(new HandlerError('handler_cut_off', nameOf(claim), claim.attempt, detail))
}

/** Its handlers have ended, and the store is being told: it must not be told anything else. */
function isEnding({ isBegun, isRunning, isOver }: Work): boolean {
  return isBegun && !isRunning && !isOver
}
