/** The transactions in which handlers write, on connections of the pool. */
import type { ClientBase } from 'pg'
import { OptionsError } from '../../public/errors.ts'
import type { TransactionEngine } from '../transactions.ts'
import type { Failures } from '../sql/failures.ts'
import type { Connections, Session } from './connections.ts'
import { COMMIT, ROLLBACK } from './sessions.ts'
import { hasState, isOfTheStatement, PROTOCOL_VIOLATION } from './failures.ts'

/** The part of a handler's context that a transactional store adds. */
export interface PostgresContext {
  /**
   * The connection on which the store settles the event, with an open transaction: its writes are committed with the settlement
   * or not at all. Leave `BEGIN`, `COMMIT`, `ROLLBACK` and closing to the store, and rethrow errors of statements.
   */
  readonly transaction: ClientBase
}

/** Rejects if a pooler gives each statement a connection of its own: every transaction of a handler would fail. */
export async function checkTransactions(connections: Connections, failures: Failures): Promise<void> {
  const session = await connections.checkOut()
  try {
    await session.begin()
    await session.script(ROLLBACK)
    session.release()
  } catch (error) {
    session.release(failures.cleaned(error))
    if (!hasState(error, PROTOCOL_VIOLATION)) throw error
    throw new OptionsError(
      'postgresStore: `transactional` needs transactions of several statements, which PgBouncer refuses in statement mode. Set pool_mode = transaction, or connect to the database itself.',
    )
  }
}

export function transactionEngine(
  connections: Connections,
  failures: Failures,
): Omit<TransactionEngine<Session, PostgresContext>, 'maxConnections' | 'within'> {
  function release(session: Session, error?: unknown): void {
    session.release(error === undefined ? undefined : failures.cleaned(error))
  }

  /** When the transaction of a connection began. */
  const beginnings = new WeakMap<Session, unknown>()

  return {
    async begin() {
      const session = await connections.checkOut()
      try {
        beginnings.set(session, await session.begin())
        return session
      } catch (error) {
        release(session, error)
        throw error
      }
    },
    contextOf: ({ client }) => ({ transaction: client }),
    isOpen: async (session) => beginnings.get(session) === (await session.beginning()),
    endedBy: 'A handler',
    commit: (session) => session.script(COMMIT),
    rollBack: (session) => session.script(ROLLBACK),
    release,
    ...failures,
    isOfTheStatement,
  }
}
