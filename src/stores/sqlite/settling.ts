/** What becomes of events after an attempt, and dead letters that are to be tried again. */
import { isLate } from '../../inbox/order.ts'
import type { Resolution, Settlement } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { DEAD, FIND_EVENT, SCHEDULE_MESSAGE, SETTLED } from './known.ts'
import { cutRowid, integer, prepare, text, type Row } from './statements.ts'
import { GIVE_BACK } from './taking-back.ts'

const NO_MESSAGE: Row = { handed: '', handed_open: '', held: 0 }

/** An event whose lease still holds. */
const FIND_HELD = /* sql */ `
SELECT seq, ${cutRowid('message')} AS message FROM events WHERE id = :id AND state = 0 AND token = :token
`

/** Ends an event. Found before: that RETURNING says of which message it is takes a third longer (measured: 11.1 and 8.3 µs). */
const END_EVENT = /* sql */ `
UPDATE events SET state = :state, error = :error, ended_at = :now WHERE seq = :seq
`

/** Puts an event off whose lease still holds; says of which message it is. */
const RETRY_EVENT = /* sql */ `
UPDATE events SET due = :due, error = :error
WHERE id = :id AND state = 0 AND token = :token
RETURNING ${cutRowid('message')} AS message
`

/** A lease of this token is over. Another event of the message may be in somebody's hands by now, under a lease of its own. */
export const END_LEASE = /* sql */ `
UPDATE messages
SET due = (SELECT due FROM events WHERE message = :message AND state = 0 ORDER BY ord LIMIT 1), lease_token = 0
WHERE rowid = :message AND lease_token IN (0, :token)
`

/** What decides whether an event of a message is late, and whether somebody holds the message. */
const MESSAGE_OF_EVENT = /* sql */ `
SELECT handed, handed_open, lease_token <> 0 AS held FROM messages WHERE rowid = :message
`

/** A dead letter waits again, its attempts counted anew. */
const REPLAY_EVENT = /* sql */ `
UPDATE events SET state = 0, due = :now, attempts = 0, token = 0, replay = 1, late = :late, error = NULL, ended_at = NULL
WHERE seq = :seq
`

/** A dead letter is settled: only its identity is kept. */
const DISCARD_EVENT = /* sql */ `
UPDATE events SET state = 1, error = NULL, ended_at = :now WHERE seq = :seq
`

interface Settling {
  settle(settlements: readonly Settlement[], nowMs: number): readonly boolean[]
  resolve(id: string, resolution: Resolution, nowMs: number): boolean
}

export function createSettling({ db, transaction }: Database): Settling {
  const findEvent = prepare(db, FIND_EVENT)
  const messageOfEvent = prepare(db, MESSAGE_OF_EVENT)
  const retryEvent = prepare(db, RETRY_EVENT)
  const giveBack = prepare(db, GIVE_BACK)
  const findHeld = prepare(db, FIND_HELD)
  const endEvent = prepare(db, END_EVENT)
  const endLease = prepare(db, END_LEASE)
  const discardEvent = prepare(db, DISCARD_EVENT)
  const replayEvent = prepare(db, REPLAY_EVENT)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)

  function settleEvent(settlement: Settlement, nowMs: number): Row | undefined {
    const { token, outcome } = settlement
    const id = digestBytes(settlement.id)
    if (outcome === 'retry') return retryEvent.get({ id, token, due: settlement.dueMs, error: settlement.error })
    if (outcome === 'unbegun') return giveBack.get({ id, token, due: settlement.dueMs })
    const held = findHeld.get({ id, token })
    if (held === undefined) return undefined
    const isDone = outcome === 'done'
    endEvent.run({
      seq: integer(held, 'seq'),
      state: isDone ? SETTLED : DEAD,
      error: isDone ? null : settlement.error,
      now: nowMs,
    })
    return held
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
