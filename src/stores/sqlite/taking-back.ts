/** Leases of which the answer was lost with the thread: nobody runs their events, and they need not wait for the end of the lease. */
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import type { Holders } from './holders.ts'
import { prepare } from './prepare.ts'
import { integer, text } from './row.ts'
import { HELD_MESSAGES } from './statements/held-messages.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'
import { TAKE_BACK, TAKE_BACK_OF_MESSAGE } from './statements/take-back.ts'

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
