/** Leases of which the answer was lost with the thread: nobody runs their events, and they need not wait for the end of the lease. */
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { prepare } from './prepare.ts'
import { integer } from './row.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'
import { TAKE_BACK } from './statements/take-back.ts'

/** Takes the leases of these events back, where they were admitted at all. */
export function createTakingBack({ db, transaction }: Database): (ids: readonly string[], nowMs: number) => void {
  const takeBack = prepare(db, TAKE_BACK)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)
  return (ids, nowMs) =>
    transaction(false, nowMs, () => {
      for (const id of ids) {
        const taken = takeBack.get({ id: digestBytes(id) })
        if (taken !== undefined) scheduleMessage.run({ message: integer(taken, 'message') })
      }
    })
}
