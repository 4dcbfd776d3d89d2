/** The transactions in which handlers write, on connections of the pool. */
import type { Connection } from 'mysql2/promise'
import type { TransactionEngine } from '../transactions.ts'
import type { Failures } from '../sql/failures.ts'
import { sql } from '../../runtime/sql.ts'
import { COMMIT, ROLLBACK, type Connections, type Session } from './connections.ts'
import { isOfNoSavepoint, isOfTheStatement } from './failures.ts'

/** What a transactional store adds to a handler's context. */
export interface MysqlContext {
  /**
   * The connection on which the event will be settled, with an open transaction: what is written through it is committed with
   * the settlement or not at all. Leave `COMMIT`, `ROLLBACK`, `autocommit` and closing to the store, change no tables (MySQL
   * commits before it does), and rethrow errors of statements.
   */
  readonly transaction: Connection
}

/** Exists as long as the transaction in which it was set. */
const SAVEPOINT = 'messaging_webhooks'

export function transactionEngine(
  connections: Connections,
  failures: Failures,
): Omit<TransactionEngine<Session, MysqlContext>, 'maxConnections' | 'within'> {
  return {
    async begin() {
      const session = await connections.checkOut()
      try {
        // A deadlock ends the transaction. Without autocommit, what a handler writes after it caught the error stays uncommitted.
        await session.script(sql`SET autocommit = 0`)
        await session.script(sql`SAVEPOINT ${SAVEPOINT}`)
        return session
      } catch (error) {
        session.release(error)
        throw failures.asThrown(error)
      }
    },
    contextOf: ({ client }) => ({ transaction: client }),
    async isOpen({ script }) {
      try {
        await script(sql`RELEASE SAVEPOINT ${SAVEPOINT}`)
        return true
      } catch (error) {
        if (isOfNoSavepoint(error)) return false
        throw error
      }
    },
    endedBy: 'A handler, a deadlock or a change of a table',
    async commit({ script }) {
      await script(COMMIT)
      await script(sql`SET autocommit = 1`)
    },
    async rollBack({ script }) {
      await script(ROLLBACK)
      await script(sql`SET autocommit = 1`)
    },
    release: ({ release }, error) => release(error),
    ...failures,
    isOfTheStatement,
  }
}
