/** The connection pool. Every use has a time limit, and a connection that did not answer in time is not used again. */
import type { Pool, PoolConnection } from 'mysql2/promise'
import { positional, sql, type Sql } from '../../runtime/sql.ts'
import { isRecord } from '../../runtime/values.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ATTEMPTS, createDeadlines } from '../sql/connecting.ts'
import type { Ask, Statement, Value } from '../sql/dialect.ts'
import type { Failures } from '../sql/failures.ts'
import type { Row } from '../sql/values.ts'
import { Conflict, isConflict, isOfTheStatement } from './failures.ts'
import { execute, query } from './query.ts'
import { nameIn, rowReader } from './reading.ts'
import type { Settings } from './settings.ts'

/** A connection taken from the pool. */
export interface Session {
  readonly client: PoolConnection
  readonly ask: Ask
  /** Runs a statement without values. Answers the rows found, inserted or deleted by one that returns none. */
  script(text: Sql): Promise<number>
  /** Length of a list that the server accepts on this connection. */
  readonly longest: number
  /** With an error the connection is closed; otherwise it returns to the pool. */
  release(error?: unknown): void
}

export type Transaction = Pick<Session, 'ask' | 'longest'>

export type Connections = ReturnType<typeof createConnections>

/** A list that the server would refuse for its length. */
export class TooLong extends Error {}

/** A reason of this package, not of the server, to undo a transaction. The connection is still usable. */
function isOwn(reason: unknown): boolean {
  return reason instanceof TooLong
}

export function createConnections(pool: Pool, settings: Settings, failures: Failures) {
  const deadlines = createDeadlines('MySQL', settings)
  /** The longest list for each connection whose session has been set. */
  const ready = new WeakMap<object, number>()

  async function ask(client: PoolConnection, statement: Statement, values: readonly Value[] = []): Promise<Answer> {
    const { text, numbers } = positionalOf(statement)
    // A number would be sent as a floating one.
    const bound = numbers.map((number) => (values[number - 1] == null ? null : String(values[number - 1])))
    return answerIn(await deadlines.answered(execute(client, text, bound)))
  }

  /** Takes a connection. The caller must release it. */
  async function checkOut(): Promise<Session> {
    const client = await deadlines.connected(pool.getConnection()).catch((error: unknown) => {
      throw failures.asThrown(error)
    })
    const askHere: Ask = async (statement, values) => (await ask(client, statement, values)).rows
    const script = async (text: Sql): Promise<number> =>
      answerIn(await deadlines.answered(query(client, text))).affected
    try {
      const longest = ready.get(client.connection) ?? (await setUp({ ask: askHere, script }))
      ready.set(client.connection, longest)
      return {
        client,
        ask: askHere,
        script,
        longest,
        release: (error) => (error === undefined ? client.release() : client.destroy()),
      }
    } catch (error) {
      client.destroy()
      throw failures.asThrown(error)
    }
  }

  /** Returns the length of a list that the server accepts on this connection, from now on. */
  async function setUp({ ask: askHere, script }: Pick<Session, 'ask' | 'script'>): Promise<number> {
    const { lockTimeoutMs, queryTimeoutMs, transactional } = settings
    const [row = {}] = await askHere(FIND_SERVER)
    const version = nameIn(row, 'version')
    const isMariaDb = version.includes('MariaDB')
    refuseOld(version, isMariaDb)
    await script(sql`SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`)
    await askHere(SET_SESSION, [Math.ceil(lockTimeoutMs)])
    const queryMs = Math.ceil(queryTimeoutMs)
    // A handler leaves its transaction idle.
    if (isMariaDb) await askHere(LIMIT_MARIADB, [queryMs, transactional ? 0 : queryMs])
    else await askHere(LIMIT_MYSQL, [queryMs])
    return rowReader.integer(row, 'bytes') - PACKET_BYTES
  }

  /** Returns the connection without an open transaction. */
  async function undo(session: Session, reason: unknown): Promise<void> {
    if (!isOfTheStatement(reason) && !isOwn(reason)) {
      session.release(reason)
      return
    }
    try {
      await session.script(ROLLBACK)
      session.release()
    } catch (error) {
      session.release(error)
    }
  }

  /** Runs one statement, which is a transaction of its own. */
  async function once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const session = await checkOut()
      try {
        const answer = await work(session)
        session.release()
        return answer
      } catch (error) {
        // A refused statement was undone, so the connection is still usable.
        session.release(isOfTheStatement(error) ? undefined : error)
        if (attempt === ATTEMPTS || !isConflict(error)) throw failures.asThrown(error)
      }
    }
  }

  const askOnce: Ask = (statement, values) => once((session) => session.ask(statement, values))
  return {
    checkOut,
    ask: askOnce,
    script: (text: Sql): Promise<number> => once((session) => session.script(text)),
    /** Runs a statement that returns no rows. Answers how many it inserted, changed or deleted. */
    change: (statement: Statement, values: readonly Value[]): Promise<number> =>
      once(async ({ client }) => (await ask(client, statement, values)).affected),
    /**
     * Runs the statements of `work` in one transaction. Rejects with a `Conflict` if another process changed the same rows,
     * after rolling back.
     */
    async together<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
      const session = await checkOut()
      try {
        await session.script(sql`START TRANSACTION`)
        const answer = await work(session)
        await session.script(COMMIT)
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

export const COMMIT = sql`COMMIT`
export const ROLLBACK = sql`ROLLBACK`
const FIND_SERVER = { name: 'mw_server', text: sql`SELECT @@max_allowed_packet AS bytes, VERSION() AS version` }

/** Older servers lack `SKIP LOCKED`, or tables made of JSON. */
function refuseOld(version: string, isMariaDb: boolean): void {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  if (isMariaDb ? major > 10 || (major === 10 && minor >= 6) : major >= 8) return
  const detail = `The server is ${version}. Use MariaDB 10.6 or later, or MySQL 8.0 or later.`
  throw new MessagingWebhooksError('store_failed', detail)
}

/** Values that do not fit are refused, text is in one encoding, and a lock that takes longer than $1 ms ends the statement. */
const SET_SESSION = {
  name: 'mw_session',
  text: sql`
SET SESSION sql_mode = 'STRICT_ALL_TABLES', autocommit = 1, collation_connection = 'utf8mb4_bin',
  sql_safe_updates = 0, sql_select_limit = DEFAULT,
  innodb_lock_wait_timeout = CAST(CEILING($1 / 1000) AS UNSIGNED), lock_wait_timeout = CAST(CEILING($1 / 1000) AS UNSIGNED)`,
}

/**
 * A statement that takes longer than $1 ms ends. If this process vanishes within a transaction, the server ends it after $2 ms;
 * elsewhere its locks last until the server notices the broken connection.
 */
const LIMIT_MARIADB = {
  name: 'mw_limit',
  text: sql`SET SESSION max_statement_time = $1 / 1000, idle_transaction_timeout = CAST(CEILING($2 / 1000) AS UNSIGNED)`,
}
/** Only queries end. */
const LIMIT_MYSQL = { name: 'mw_limit', text: sql`SET SESSION max_execution_time = CAST($1 AS UNSIGNED)` }

/** What a packet holds beside a list. */
export const PACKET_BYTES = 64

/** The result of a statement. */
interface Answer {
  readonly rows: readonly Row[]
  /** Rows found, inserted or deleted by a statement that returns none. */
  readonly affected: number
}

function answerIn([result]: readonly unknown[]): Answer {
  if (Array.isArray(result)) return { rows: result.filter(isRecord), affected: 0 }
  const affected = isRecord(result) ? result['affectedRows'] : 0
  return { rows: [], affected: typeof affected === 'number' ? affected : 0 }
}

const POSITIONAL = new WeakMap<Statement, ReturnType<typeof positional>>()

/** A statement as MySQL reads it: with a question mark for each use of a parameter. */
function positionalOf(statement: Statement): ReturnType<typeof positional> {
  const found = POSITIONAL.get(statement) ?? positional(statement.text)
  POSITIONAL.set(statement, found)
  return found
}
