/** The transactions in which handlers write, on connections of the pool. */
import type { ClientBase } from 'pg'
import { OptionsError } from '../../public/errors.ts'
import type { TransactionEngine } from '../transactions.ts'
import type { Failures } from '../sql/failures.ts'
import type { Connections, Session } from './connections.ts'
import { hasState, isOfTheStatement, PROTOCOL_VIOLATION } from './failures.ts'

/** The part of a handler's context that a transactional store adds. */
export interface PostgresContext {
  /**
   * The connection on which the store settles the event, with an open transaction: its writes are committed with the settlement
   * or not at all. Leave `BEGIN`, `COMMIT`, `ROLLBACK` and closing to the store, and rethrow errors of statements.
   */
  readonly transaction: ClientBase
}

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** Rejects if a pooler gives each statement a connection of its own: every transaction of a handler would fail. */
export async function checkTransactions(connections: Connections, failures: Failures): Promise<void> {
  const session = await connections.checkOut()
  try {
    await session.batch(BEGIN)
    await session.batch('ROLLBACK')
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

  /** When the transaction of a connection began, which the server keeps until its end. */
  const beginnings = new WeakMap<Session, unknown>()

  async function beginning({ batch }: Session, statement = ''): Promise<unknown> {
    return (await batch(`${statement}SELECT now() AS began`)).flat()[0]?.['began']
  }

  return {
    async begin() {
      const session = await connections.checkOut()
      try {
        beginnings.set(session, await beginning(session, `${BEGIN};`))
        return session
      } catch (error) {
        release(session, error)
        throw error
      }
    },
    contextOf: ({ client }) => ({ transaction: client }),
    isOpen: async (session) => beginnings.get(session) === (await beginning(session)),
    endedBy: 'A handler',
    commit: (session) => session.batch('COMMIT'),
    rollBack: (session) => session.batch('ROLLBACK'),
    release,
    ...failures,
    isOfTheStatement,
  }
}
