/** Under whose name leases are held, so that those of a dead process need not run out. */
import { UNTIMED, type Database } from './database.ts'
import { SCHEDULE_MESSAGE } from './known.ts'
import { integer, prepare, text } from './statements.ts'

/** Enters a store that is open under the name of its folder; once more when its thread was started anew. */
const INSERT_HOLDER = /* sql */ `
INSERT INTO holders (name, process, since) VALUES (:name, :process, :since)
`

/** Nothing is looked for under this name any more. */
const DELETE_HOLDER = /* sql */ `
DELETE FROM holders WHERE holder = :holder
`

/** One store under all that it was entered as. */
const HOLDERS_OF_NAME = /* sql */ `
SELECT holder FROM holders WHERE name = :name
`

/**
 * All that are entered, each with what it has leased; it walks through what is unsettled, as HELD_MESSAGES. A time that is
 * damaged counts for none.
 */
const LIST_HOLDERS = /* sql */ `
SELECT name, min(process) AS process, sum(coalesce(held, 0)) AS held,
  CASE WHEN min(since) BETWEEN 0 AND 4102444800000 THEN min(since) END AS since
FROM holders LEFT JOIN (
  SELECT holder AS of_holder, count(*) AS held
  FROM messages INDEXED BY messages_due WHERE due IS NOT NULL AND lease_token <> 0 GROUP BY messages.holder
) ON of_holder = holder
GROUP BY name ORDER BY min(since), min(holder)
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

/** A store that leases. */
export interface HoldingStore {
  /** Of its folder. */
  readonly name: string
  /** The machine's name and the process id. */
  readonly process: string
  /** When it was opened. */
  readonly sinceMs: number
}

/** As the file has it; whether it is alive the file does not say. Of one that an earlier version entered less is known. */
export interface ListedHolder extends Pick<HoldingStore, 'name'> {
  readonly process: string | undefined
  readonly sinceMs: number | undefined
  /** Events under its leases. */
  readonly held: number
}

export interface Holders {
  /** Null before `hold`, and where the process could not show that it is alive: then others wait for its leases. */
  readonly own: number | null
  hold(store: HoldingStore): void
  others(): readonly Holder[]
  /** All, the longest there first. */
  listed(): readonly ListedHolder[]
  /** Makes due what a dead holder held, and forgets it. Says how many messages that were. */
  release(holder: number): number
  /**
   * Takes the name back: what was leased under it is due at once, as after a death. No token need be void, for nobody settles
   * in a store that is closed.
   */
  letGo(): void
}

export function createHolders({ db, transaction }: Database): Holders {
  const insertHolder = prepare(db, INSERT_HOLDER)
  const deleteHolder = prepare(db, DELETE_HOLDER)
  const holdersOfName = prepare(db, HOLDERS_OF_NAME)
  const otherHolders = prepare(db, OTHER_HOLDERS)
  const listHolders = prepare(db, LIST_HOLDERS)
  const heldMessages = prepare(db, HELD_MESSAGES)
  const voidToken = prepare(db, VOID_TOKEN)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)
  let own: number | null = null
  let ownName = ''

  /** Makes due what this one held, and forgets it. Says how many messages that were. */
  function release(holder: number, isDead: boolean): number {
    const messages = heldMessages.all({ holder }).map((row) => integer(row, 'rowid'))
    for (const message of messages) {
      if (isDead) voidToken.run({ message })
      scheduleMessage.run({ message })
    }
    deleteHolder.run({ holder })
    return messages.length
  }

  return {
    get own() {
      return own
    },
    hold({ name, process, sinceMs }) {
      own = transaction(false, UNTIMED, () =>
        Number(insertHolder.run({ name, process, since: sinceMs }).lastInsertRowid),
      )
      ownName = name
    },
    others: () => otherHolders.all({ own }).map((row) => ({ holder: integer(row, 'holder'), name: text(row, 'name') })),
    listed: () =>
      listHolders.all().map((row) => ({
        name: text(row, 'name'),
        process: typeof row['process'] === 'string' ? row['process'] : undefined,
        sinceMs: typeof row['since'] === 'number' ? row['since'] : undefined,
        held: integer(row, 'held'),
      })),
    release: (holder) => transaction(false, UNTIMED, () => release(holder, true)),
    letGo() {
      if (own === null) return
      transaction(false, UNTIMED, () => {
        for (const row of holdersOfName.all({ name: ownName })) release(integer(row, 'holder'), false)
      })
      own = null
    },
  }
}
