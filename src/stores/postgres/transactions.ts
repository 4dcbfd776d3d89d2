/** The transactions in which handlers write, on connections of the pool. */
import type { ClientBase } from 'pg'
import type { TransactionEngine } from '../transactions.ts'
import type { Connections, Session } from './connections.ts'
import { isOfTheStatement, type Failures } from './failures.ts'

/** What a transactional store adds to a handler's context. */
export interface PostgresContext {
  /**
   * The connection on which the event will be settled, with an open transaction: what is written through it is committed with
   * the settlement or not at all. Leave `BEGIN`, `COMMIT`, `ROLLBACK` and closing to the store, and rethrow errors of
   * statements.
   */
  readonly transaction: ClientBase
}

export function transactionEngine(
  connections: Connections,
  { cleaned, asThrown }: Failures,
): Omit<TransactionEngine<Session>, 'settle'> {
  function release(session: Session, error?: unknown): void {
    session.release(error === undefined ? undefined : cleaned(error))
  }

  return {
    async begin() {
      const session = await connections.checkOut()
      try {
        await session.batch('BEGIN ISOLATION LEVEL READ COMMITTED')
        return session
      } catch (error) {
        release(session, error)
        throw error
      }
    },
    commit: (session) => session.batch('COMMIT'),
    rollBack: (session) => session.batch('ROLLBACK'),
    release,
    isOfTheStatement,
    asThrown,
    cleaned,
  }
}
