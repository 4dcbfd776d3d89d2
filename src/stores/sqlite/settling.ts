/** What becomes of events after an attempt, and dead letters that are to be tried again. */
import { isLate } from '../../inbox/order.ts'
import type { Resolution, Settlement } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { DEAD, SETTLED } from './event-state.ts'
import { prepare } from './prepare.ts'
import { integer, text, type Row } from './row.ts'
import { DISCARD_EVENT } from './statements/discard-event.ts'
import { END_LEASE } from './statements/end-lease.ts'
import { FIND_EVENT } from './statements/find-event.ts'
import { MESSAGE_OF_EVENT } from './statements/message-of-event.ts'
import { REPLAY_EVENT } from './statements/replay-event.ts'
import { RETRY_EVENT } from './statements/retry-event.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'
import { SETTLE_EVENT } from './statements/settle-event.ts'
import { GIVE_BACK } from './statements/take-back.ts'

const NO_MESSAGE: Row = { handed: '', handed_open: '', held: 0 }

interface Settling {
  settle(settlements: readonly Settlement[], nowMs: number): readonly boolean[]
  resolve(id: string, resolution: Resolution, nowMs: number): boolean
}

export function createSettling({ db, transaction }: Database): Settling {
  const findEvent = prepare(db, FIND_EVENT)
  const messageOfEvent = prepare(db, MESSAGE_OF_EVENT)
  const retryEvent = prepare(db, RETRY_EVENT)
  const giveBack = prepare(db, GIVE_BACK)
  const endEvent = prepare(db, SETTLE_EVENT)
  const endLease = prepare(db, END_LEASE)
  const discardEvent = prepare(db, DISCARD_EVENT)
  const replayEvent = prepare(db, REPLAY_EVENT)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)

  function settleEvent(settlement: Settlement, nowMs: number): Row | undefined {
    const { token, outcome } = settlement
    const id = digestBytes(settlement.id)
    if (outcome === 'retry') return retryEvent.get({ id, token, due: settlement.dueMs, error: settlement.error })
    if (outcome === 'unbegun') return giveBack.get({ id, token, due: settlement.dueMs })
    if (outcome === 'done') return endEvent.get({ id, token, state: SETTLED, error: null, now: nowMs })
    return endEvent.get({ id, token, state: DEAD, error: settlement.error, now: nowMs })
  }

  function settleOne(settlement: Settlement, nowMs: number): boolean {
    const { token } = settlement
    // Of no claim: an event that nobody has claimed has this token, too.
    if (token === 0) return false
    const settled = settleEvent(settlement, nowMs)
    if (settled === undefined) return false
    endLease.run({ message: integer(settled, 'message'), token })
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
          discardEvent.run({ seq, now: nowMs })
          return true
        }
        const message = integer(event, 'message')
        // Where it is gone, `prune` makes it anew.
        const row = messageOfEvent.get({ message }) ?? NO_MESSAGE
        const handed = { handed: text(row, 'handed'), handedOpen: text(row, 'handed_open') }
        const late =
          resolution !== 'force' && isLate({ order: text(event, 'ord'), final: integer(event, 'final') === 1 }, handed)
        replayEvent.run({ seq, now: nowMs, late: Number(late) })
        if (integer(row, 'held') === 0) scheduleMessage.run({ message })
        return true
      }),
  }
}
