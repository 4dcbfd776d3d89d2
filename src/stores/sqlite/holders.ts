/** Under whose name leases are held, so that those of a dead process need not run out. */
import { UNTIMED, type Database } from './database.ts'
import { SCHEDULE_MESSAGE } from './known.ts'
import { integer, prepare, text } from './statements.ts'

/** Enters a store that is open under the name of its folder. */
const INSERT_HOLDER = /* sql */ `
INSERT INTO holders (name) VALUES (:name)
`

/** Nothing is looked for under this name any more. */
const DELETE_HOLDER = /* sql */ `
DELETE FROM holders WHERE holder = :holder
`

/** Stores that are open, or were when their process ended; all where :own is null. */
const OTHER_HOLDERS = /* sql */ `
SELECT holder, name FROM holders WHERE holder IS NOT :own
`

/**
 * Messages under a lease of this holder. It walks through what is unsettled, once for each death, so that no claim has an
 * index more to write (35 ms where 200,000 messages wait, measured).
 */
export const HELD_MESSAGES = /* sql */ `
SELECT rowid, lower(hex(key)) AS key FROM messages INDEXED BY messages_due WHERE due IS NOT NULL AND lease_token <> 0 AND holder = :holder
`

/** Whoever still has the token of this message's lease cannot settle with it. */
const VOID_TOKEN = /* sql */ `
UPDATE events SET token = 0
WHERE message = :message AND state = 0 AND token = (SELECT lease_token FROM messages WHERE rowid = :message)
`

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
