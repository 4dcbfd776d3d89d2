/** The connection pool. Every use has a time limit, and a connection that did not answer in time is not used again. */
import type { Pool, PoolConnection } from 'mysql2/promise'
import { isRecord } from '../../runtime/values.ts'
import type { Failures } from '../sql/failures.ts'
import type { Row } from '../sql/values.ts'
import { ATTEMPTS, createDeadlines } from '../sql/connecting.ts'
import { integer } from './encoding.ts'
import { Conflict, isConflict, isOfTheStatement } from './failures.ts'
import type { Settings } from './settings.ts'

/** The result of a statement. */
interface Answer {
  readonly rows: readonly Row[]
  /** Rows found, inserted or deleted by a statement that returns none. */
  readonly affected: number
}

export type Run = (sql: string) => Promise<Answer>

/** A connection taken from the pool. */
export interface Session {
  readonly client: PoolConnection
  readonly run: Run
  /** Length of a statement that the server accepts on this connection. */
  readonly longest: number
  /** With an error the connection is closed; otherwise it returns to the pool. */
  release(error?: unknown): void
}

export type Transaction = Pick<Session, 'run' | 'longest'>

export type Connections = ReturnType<typeof createConnections>

/** A statement that the server would refuse for its length. */
export class TooLong extends Error {}

/** A reason of this package, not of the server, to undo a transaction. The connection is still usable. */
function isOwn(reason: unknown): boolean {
  return reason instanceof TooLong
}

export function createConnections(pool: Pool, settings: Settings, failures: Failures) {
  const deadlines = createDeadlines('MySQL', settings)
  /** The longest statement of each connection whose session has been set. */
  const ready = new WeakMap<object, number>()

  async function ask(client: PoolConnection, sql: string): Promise<Answer> {
    // Every value as the server's bytes, whatever the pool is set to.
    const asked = client.query({ sql, rowsAsArray: false, nestTables: false, typeCast: (field) => field.buffer() })
    const [result]: readonly unknown[] = await deadlines.answered(asked)
    if (Array.isArray(result)) return { rows: result.filter(isRecord), affected: 0 }
    const affected = isRecord(result) ? result['affectedRows'] : 0
    return { rows: [], affected: typeof affected === 'number' ? affected : 0 }
  }

  /** Takes a connection. The caller must release it. */
  async function checkOut(): Promise<Session> {
    const client = await deadlines.connected(pool.getConnection()).catch((error: unknown) => {
      throw failures.asThrown(error)
    })
    const run: Run = (sql) => ask(client, sql)
    try {
      const longest = ready.get(client.connection) ?? (await setUp(run))
      ready.set(client.connection, longest)
      return { client, run, longest, release: (error) => (error === undefined ? client.release() : client.destroy()) }
    } catch (error) {
      client.destroy()
      throw failures.asThrown(error)
    }
  }

  /** Returns the length of a statement that the server accepts on this connection, from now on. */
  async function setUp(run: Run): Promise<number> {
    for (const statement of sessionSettings(settings)) await run(statement)
    const { rows } = await run('SELECT @@max_allowed_packet AS bytes')
    // A packet has one byte for the command.
    return integer(rows[0] ?? {}, 'bytes') - 1
  }

  /** Returns the connection without an open transaction. */
  async function undo(session: Session, reason: unknown): Promise<void> {
    if (!isOfTheStatement(reason) && !isOwn(reason)) {
      session.release(reason)
      return
    }
    try {
      await session.run('ROLLBACK')
      session.release()
    } catch (error) {
      session.release(error)
    }
  }

  return {
    checkOut,
    /** Runs one statement, which is a transaction of its own. */
    async run(sql: string): Promise<Answer> {
      for (let attempt = 1; ; attempt += 1) {
        const session = await checkOut()
        try {
          const answer = await session.run(sql)
          session.release()
          return answer
        } catch (error) {
          // A refused statement was undone, so the connection is still usable.
          session.release(isOfTheStatement(error) ? undefined : error)
          if (attempt === ATTEMPTS || !isConflict(error)) throw failures.asThrown(error)
        }
      }
    },
    /**
     * Runs the statements of `work` in one transaction. Rejects with a `Conflict` if another process changed the same rows,
     * after rolling back.
     */
    async together<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
      const session = await checkOut()
      try {
        await session.run('START TRANSACTION')
        const answer = await work(session)
        await session.run('COMMIT')
        session.release()
        return answer
      } catch (error) {
        await undo(session, error)
        if (isOwn(error)) throw error
        throw isConflict(error) ? new Conflict() : failures.asThrown(error)
      }
    },
    async close(): Promise<void> {
      // The application closes its own pool.
      if (settings.pool === undefined) await deadlines.ended(pool.end())
    },
  }
}

/**
 * Each statement sees what was committed before it started. Values that do not fit are refused. A lock or a statement that takes
 * too long ends; MySQL ends only queries. If this process vanishes within a transaction, MariaDB ends it; elsewhere its locks
 * last until the server notices the broken connection. Each server skips the comment of the other.
 */
function sessionSettings({ lockTimeoutMs, queryTimeoutMs, transactional }: Settings): readonly string[] {
  const [lock, query] = [lockTimeoutMs, queryTimeoutMs].map((ms) => Math.ceil(ms / 1000))
  // A handler leaves its transaction idle.
  const idle = transactional ? '' : `, idle_transaction_timeout = ${query}`
  return [
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
    `SET SESSION sql_mode = 'STRICT_ALL_TABLES', autocommit = 1, innodb_lock_wait_timeout = ${lock}, lock_wait_timeout = ${lock}
/*M! , max_statement_time = ${queryTimeoutMs / 1000}${idle} */
/*!80000 , max_execution_time = ${Math.ceil(queryTimeoutMs)} */`,
  ]
}
