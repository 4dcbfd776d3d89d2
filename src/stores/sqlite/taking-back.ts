/** Leases of which the answer was lost with the thread: nobody runs their events, and they need not wait for the end of the lease. */
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { HELD_MESSAGES, type Holders } from './holders.ts'
import { SCHEDULE_MESSAGE } from './known.ts'
import { cut, cutRowid, integer, prepare, text } from './statements.ts'

/** The lease of an event that nobody has seen: its attempt did not happen. */
const TAKEN_BACK = `UPDATE events SET token = 0, attempts = ${cut('attempts')} - 1`

/** By the one who held it, who says when it is due: it awaits no step any more. Says of which message it is. */
export const GIVE_BACK = /* sql */ `
${TAKEN_BACK}, due = :due, awaits = 0
WHERE id = :id AND state = 0 AND token = :token
RETURNING ${cutRowid('message')} AS message
`

/** Says of which message it is. */
const TAKE_BACK = /* sql */ `
${TAKEN_BACK}
WHERE id = :id AND state = 0 AND token <> 0
  AND token = (SELECT lease_token FROM messages WHERE rowid = events.message)
RETURNING ${cutRowid('message')} AS message
`

const TAKE_BACK_OF_MESSAGE = /* sql */ `
${TAKEN_BACK}
WHERE message = :message AND state = 0 AND token <> 0
  AND token = (SELECT lease_token FROM messages WHERE rowid = :message)
`

export interface TakingBack {
  /** Of these events, where they were admitted at all. */
  takeBack(ids: readonly string[], nowMs: number): void
  /** All that was leased under `name` before the present `hold`, but of the messages in `inHand`. */
  takeBackAllBut(inHand: ReadonlySet<string>, name: string, nowMs: number): void
}

export function createTakingBack({ db, transaction }: Database, holders: Pick<Holders, 'others'>): TakingBack {
  const takeBack = prepare(db, TAKE_BACK)
  const takeBackOfMessage = prepare(db, TAKE_BACK_OF_MESSAGE)
  const heldMessages = prepare(db, HELD_MESSAGES)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)
  return {
    takeBack: (ids, nowMs) =>
      transaction(false, nowMs, () => {
        for (const id of ids) {
          const taken = takeBack.get({ id: digestBytes(id) })
          if (taken !== undefined) scheduleMessage.run({ message: integer(taken, 'message') })
        }
      }),
    takeBackAllBut: (inHand, name, nowMs) =>
      transaction(false, nowMs, () => {
        for (const { holder } of holders.others().filter((other) => other.name === name))
          for (const row of heldMessages.all({ holder })) {
            if (inHand.has(text(row, 'key'))) continue
            const message = integer(row, 'rowid')
            takeBackOfMessage.run({ message })
            scheduleMessage.run({ message })
          }
      }),
  }
}
