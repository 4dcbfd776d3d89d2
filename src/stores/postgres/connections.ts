/** The pool: every use of it ends in time, and a connection that did not answer is not used again. */
import type * as Pg from 'pg'
import type { ClientBase, Pool, PoolClient } from 'pg'
import { systemClock, withDeadline, type Clock } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Row } from './encoding.ts'
import { createFailures, isPassing, secretsOf, type Failures } from './failures.ts'
import { isError } from '../../runtime/values.ts'

export interface TimeLimits {
  readonly connectTimeoutMs: number
  readonly queryTimeoutMs: number
  readonly lockTimeoutMs: number
}

export interface Connections {
  readonly limits: TimeLimits
  /** One statement, with parameters. */
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>
  /** Several statements without parameters in one round trip and one transaction; the rows of each that has any. */
  batch(sql: string): Promise<readonly (readonly Row[])[]>
  /** A connection for a transaction of its own. Whoever has it gives it back. */
  checkOut(): Promise<Session>
  close(): Promise<void>
}

/** A connection that is somebody's. */
export interface Session {
  readonly client: ClientBase
  batch(sql: string): Promise<readonly (readonly Row[])[]>
  /** With an error the connection is ended; without, it goes back into the pool. */
  release(error?: Error): void
}

/** The server ends a statement by itself; it is given a moment to say so. */
const MARGIN_MS = 1_000
const ATTEMPTS = 4

/** The server's own text of every value: the parsers that an application sets are for its own queries. */
const AS_SENT = { getTypeParser: () => (value: unknown) => value }

function createConnections(options: {
  readonly pool: Pool
  /** Whether the pool ends with the store. */
  readonly owned: boolean
  readonly clock: Clock
  readonly limits: TimeLimits
  readonly failures: Failures
}): Connections {
  const { pool, owned, clock, limits, failures } = options
  // An idle connection that breaks tells its pool; without a listener that would end the process.
  const ignore = (): void => {}
  pool.on('error', ignore)

  function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
    return withDeadline(clock, timeoutMs, work, () => {
      throw new MessagingWebhooksError('store_slow', 'Postgres gave no answer.')
    })
  }

  async function connect(): Promise<PoolClient> {
    const connecting = pool.connect()
    try {
      return await inTime(connecting, limits.connectTimeoutMs)
    } catch (error) {
      // One that comes too late is not kept from the others.
      connecting.then(
        (client) => client.release(),
        () => {},
      )
      throw error
    }
  }

  async function ask(
    client: ClientBase,
    sql: string,
    values?: readonly unknown[],
  ): Promise<readonly (readonly Row[])[]> {
    const config =
      values === undefined ? { text: sql, types: AS_SENT } : { text: sql, types: AS_SENT, values: [...values] }
    const result: unknown = await inTime(client.query(config), limits.queryTimeoutMs + MARGIN_MS)
    return [result].flat().map(rowsOf)
  }

  async function checkOut(): Promise<Session> {
    const client = await connect()
    // Between two statements nobody else hears that the connection broke.
    client.on('error', ignore)
    return {
      client,
      batch: (sql) => ask(client, sql),
      release(error) {
        client.off('error', ignore)
        client.release(error)
      },
    }
  }

  async function once(sql: string, values: readonly unknown[] | undefined): Promise<readonly (readonly Row[])[]> {
    const session = await checkOut()
    try {
      const rows = await ask(session.client, sql, values)
      session.release()
      return rows
    } catch (error) {
      // Where the server refused a statement it has undone it, and the connection is as good as before.
      const isRefusal = isError(error) && 'severity' in error && error.severity === 'ERROR'
      session.release(isRefusal ? undefined : failures.cleaned(error))
      throw error
    }
  }

  async function run(sql: string, values?: readonly unknown[]): Promise<readonly (readonly Row[])[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(sql, values)
      } catch (error) {
        // It was undone as a whole, so it may be said again.
        if (attempt < ATTEMPTS && isPassing(error)) continue
        throw failures.asThrown(error)
      }
    }
  }

  return {
    limits,
    query: async (sql, values = []) => (await run(sql, values))[0] ?? [],
    batch: (sql) => run(sql),
    checkOut,
    async close() {
      if (!owned) {
        pool.off('error', ignore)
        return
      }
      // Connections that hang are given up: the process must be able to end.
      await withDeadline(clock, limits.connectTimeoutMs, pool.end(), () => undefined)
    },
  }
}

/** The rows of one result, as `pg` gives it: objects. */
function rowsOf(result: unknown): readonly Row[] {
  const rows: unknown = typeof result === 'object' && result !== null && 'rows' in result ? result.rows : undefined
  return areRows(rows) ? rows : []
}

function areRows(rows: unknown): rows is readonly Row[] {
  return Array.isArray(rows)
}

/** Where the database is: a pool that the application has, or an address. */
export interface Place {
  readonly pool: Pool | undefined
  readonly connectionString: string | undefined
  readonly listenConnectionString: string | undefined
  readonly maxConnections: number
  readonly limits: TimeLimits
}

interface Reached {
  readonly connections: Connections
  readonly failures: Failures
  readonly pool: Pool
}

/** A pool, ours or the application's, of which nothing hangs and nothing ends the process. */
export async function reach(place: Place): Promise<Reached> {
  const { limits } = place
  const failures = createFailures(secretsOf(place.pool, place.connectionString, place.listenConnectionString))
  const pool = place.pool ?? (await ownPool(place))
  const owned = place.pool === undefined
  return { pool, failures, connections: createConnections({ pool, owned, clock: systemClock(), limits, failures }) }
}

/** Ends every connection that it made. */
export async function reachOnce<T>(place: Place, work: (reached: Reached) => Promise<T>): Promise<T> {
  const reached = await reach(place)
  try {
    return await work(reached)
  } finally {
    await reached.connections.close()
  }
}

async function ownPool({ connectionString, maxConnections, limits }: Place): Promise<Pool> {
  const pg = await loadPg()
  return new pg.Pool({
    ...(connectionString === undefined ? {} : { connectionString }),
    max: maxConnections,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    keepAlive: true,
    application_name: 'messaging-webhooks',
  })
}

/** The optional peer dependency: loaded when a store is opened. Rejects with `peer_missing` where it is not installed. */
export async function loadPg(): Promise<Pick<typeof Pg, 'Client' | 'Pool'>> {
  try {
    return await import('pg')
  } catch (error) {
    throw new MessagingWebhooksError('peer_missing', 'postgresStore needs pg: npm install pg.', { cause: error })
  }
}
