/** What becomes of events after an attempt, and dead letters that are to be tried again. */
import { isLate } from '../../inbox/order.ts'
import type { Resolution, Settlement } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { DEAD, SETTLED, WAITING } from './event-state.ts'
import { integer, text } from './row.ts'
import { END_EVENT } from './statements/end-event.ts'
import { FIND_EVENT } from './statements/find-event.ts'
import { MESSAGE_OF_EVENT } from './statements/message-of-event.ts'
import { REPLAY_EVENT } from './statements/replay-event.ts'
import { RETRY_EVENT } from './statements/retry-event.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'

interface Settling {
  settle(settlements: readonly Settlement[], nowMs: number): readonly boolean[]
  resolve(id: string, resolution: Resolution, nowMs: number): boolean
}

export function createSettling({ db, transaction }: Database): Settling {
  const findEvent = db.prepare(FIND_EVENT)
  const messageOfEvent = db.prepare(MESSAGE_OF_EVENT)
  const retryEvent = db.prepare(RETRY_EVENT)
  const endEvent = db.prepare(END_EVENT)
  const replayEvent = db.prepare(REPLAY_EVENT)
  const scheduleMessage = db.prepare(SCHEDULE_MESSAGE)

  function settleOne(settlement: Settlement, nowMs: number): boolean {
    const event = findEvent.get({ id: digestBytes(settlement.id) })
    if (event === undefined || integer(event, 'state') !== WAITING || settlement.token === 0) return false
    if (integer(event, 'token') !== settlement.token) return false
    const seq = integer(event, 'seq')
    if (settlement.outcome === 'retry') retryEvent.run({ seq, due: settlement.dueMs, error: settlement.error })
    else if (settlement.outcome === 'done') endEvent.run({ seq, state: SETTLED, error: null, now: nowMs })
    else endEvent.run({ seq, state: DEAD, error: settlement.error, now: nowMs })
    const message = integer(event, 'message')
    const row = messageOfEvent.get({ message })
    if (row === undefined) return true
    // Another event of the message may be in somebody's hands by now, under a lease of its own.
    const leaseToken = integer(row, 'lease_token')
    if (leaseToken === 0 || leaseToken === settlement.token) scheduleMessage.run({ message })
    return true
  }

  return {
    settle: (settlements, nowMs) =>
      transaction(false, nowMs, () => settlements.map((settlement) => settleOne(settlement, nowMs))),
    resolve: (id, resolution, nowMs) =>
      transaction(true, nowMs, () => {
        const event = findEvent.get({ id: digestBytes(id) })
        if (event === undefined || integer(event, 'state') !== DEAD) return false
        const seq = integer(event, 'seq')
        if (resolution === 'discard') {
          endEvent.run({ seq, state: SETTLED, error: null, now: nowMs })
          return true
        }
        const message = integer(event, 'message')
        const row = messageOfEvent.get({ message })
        if (row === undefined) return false
        const handed = { handed: text(row, 'handed'), handedOpen: text(row, 'handed_open') }
        const late =
          resolution !== 'force' && isLate({ order: text(event, 'ord'), final: integer(event, 'final') === 1 }, handed)
        replayEvent.run({ seq, now: nowMs, late: Number(late) })
        if (integer(row, 'lease_token') === 0) scheduleMessage.run({ message })
        return true
      }),
  }
}
