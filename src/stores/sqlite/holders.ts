/** Under whose name leases are held, so that those of a dead process need not run out. */
import { UNTIMED, type Database } from './database.ts'
import { prepare } from './prepare.ts'
import { integer, text } from './row.ts'
import { DELETE_HOLDER } from './statements/delete-holder.ts'
import { HELD_MESSAGES } from './statements/held-messages.ts'
import { INSERT_HOLDER } from './statements/insert-holder.ts'
import { OTHER_HOLDERS } from './statements/other-holders.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'
import { VOID_TOKEN } from './statements/void-token.ts'

interface Holder {
  readonly holder: number
  /** Of the folder whose lock says whether it is alive. */
  readonly name: string
}

export interface Holders {
  /** Null before `hold`, and where the process could not show that it is alive: then others wait for its leases. */
  readonly own: number | null
  hold(name: string): void
  others(): readonly Holder[]
  /** Makes due what a dead holder held, and forgets it. Says how many messages that were. */
  release(holder: number): number
  /**
   * Takes the name back, and releases nothing: a handler that outlived the deadline of `close()` may still run in this
   * process, and must not run elsewhere at the same time. What it holds waits for the lease to run out.
   */
  letGo(): void
}

export function createHolders({ db, transaction }: Database): Holders {
  const insertHolder = prepare(db, INSERT_HOLDER)
  const deleteHolder = prepare(db, DELETE_HOLDER)
  const otherHolders = prepare(db, OTHER_HOLDERS)
  const heldMessages = prepare(db, HELD_MESSAGES)
  const voidToken = prepare(db, VOID_TOKEN)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)
  let own: number | null = null
  return {
    get own() {
      return own
    },
    hold(name) {
      own = transaction(false, UNTIMED, () => Number(insertHolder.run({ name }).lastInsertRowid))
    },
    others: () => otherHolders.all({ own }).map((row) => ({ holder: integer(row, 'holder'), name: text(row, 'name') })),
    release: (holder) =>
      transaction(false, UNTIMED, () => {
        const messages = heldMessages.all({ holder }).map((row) => integer(row, 'rowid'))
        for (const message of messages) {
          voidToken.run({ message })
          scheduleMessage.run({ message })
        }
        deleteHolder.run({ holder })
        return messages.length
      }),
    letGo() {
      const holder = own
      if (holder !== null) transaction(false, UNTIMED, () => deleteHolder.run({ holder }))
      own = null
    },
  }
}
