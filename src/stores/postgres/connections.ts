/** The connection pool. Every use has a time limit, and a connection that did not answer in time is not used again. */
import type * as Pg from 'pg'
import type { ClientBase, Pool, PoolClient } from 'pg'
import type { Failures } from '../sql/failures.ts'
import type { Row } from '../sql/values.ts'
import { ATTEMPTS, createDeadlines, loadPeer, type TimeLimits } from '../sql/connecting.ts'
import { truth } from './encoding.ts'
import { createPostgresFailures, hasState, isPassing, READ_ONLY, secretsOf } from './failures.ts'
import { createPlans, writtenOut } from './plans.ts'
import type { Settings } from './settings.ts'
import { isError, isRecord } from '../../runtime/values.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'

/**
 * Runs settings and statements in one round trip and one transaction, to which the settings are limited. Returns the rows of each
 * statement. A text with a `parameter` must be one statement.
 */
export type Batch = (statements: string, settings?: readonly string[]) => Promise<readonly (readonly Row[])[]>

export type Connections = ReturnType<typeof createConnections>

export interface Session {
  readonly client: ClientBase
  batch: Batch
  /** Returns the connection to the pool. With an `error`, closes it. */
  release(error?: Error): void
}

/** Returns every value as the text of the server, because the application may have set parsers of its own. */
const AS_SENT = { getTypeParser: () => (value: unknown) => value }

/** `hosts`: undefined for the application's pool, which is not closed with the store. */
function createConnections(
  { pool, hosts }: { readonly pool: Pool; readonly hosts: ReturnType<typeof createHosts> | undefined },
  limits: TimeLimits,
  failures: Failures,
  report: (error: MessagingWebhooksError) => void,
) {
  // The pool emits an error when an idle connection breaks. Without a listener the process would exit.
  const ignore = (): void => {}
  const plans = createPlans(hosts !== undefined)
  const deadlines = createDeadlines('Postgres', limits)
  pool.on('error', ignore)
  // The server may end a connection in the message with its first answer, before the pool hands it out.
  const survive = (client: PoolClient): void => void client.on('error', ignore)
  pool.on('connect', survive)

  /** Tries each host once. */
  async function connect(): Promise<PoolClient> {
    for (let attempt = 1; ; attempt += 1) {
      const address = hosts?.current()
      try {
        return await deadlines.connected(pool.connect())
      } catch (error) {
        if (hosts === undefined || address === undefined) throw error
        hosts.leave(address)
        pool.options.connectionString = hosts.current()
        if (attempt >= hosts.count) throw error
      }
    }
  }

  /** Takes a connection of the application's pool on which no other code has left a transaction: it would decide about a commit. */
  async function connectClean(): Promise<PoolClient> {
    for (let attempt = 1; ; attempt += 1) {
      const client = await connect()
      if (hosts !== undefined || !isInTransaction(client)) return client
      const error = new MessagingWebhooksError('store_pool_transaction')
      client.release(error)
      if (attempt >= ATTEMPTS) throw error
      report(error)
    }
  }

  async function ask(
    client: ClientBase,
    sql: string,
    values?: readonly unknown[],
  ): Promise<readonly (readonly Row[])[]> {
    const config =
      values === undefined ? { text: sql, types: AS_SENT } : { text: sql, types: AS_SENT, values: [...values] }
    const result: unknown = await deadlines.answered(client.query(config))
    return [result].flat().map(rowsOf)
  }

  /** Takes a connection for a transaction. The caller must release it. */
  async function checkOut(): Promise<Session> {
    const client = await connectClean()
    // Without a listener, a connection that breaks between two statements would end the process.
    client.on('error', ignore)
    return {
      client,
      batch: async (statements, settings = []) =>
        (await ask(client, settings.join('') + writtenOut(statements))).slice(settings.length),
      release(error) {
        client.off('error', ignore)
        client.release(error)
      },
    }
  }

  async function once<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await checkOut()
    try {
      const answer = await work(session)
      session.release()
      return answer
    } catch (error) {
      // A refused statement was rolled back, so the connection is still usable. Close a connection to a standby: the next one
      // may reach the primary.
      const isRefusal = isError(error) && 'severity' in error && error.severity === 'ERROR'
      session.release(isRefusal && !hasState(error, READ_ONLY) ? undefined : failures.cleaned(error))
      throw error
    }
  }

  async function run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(work)
      } catch (error) {
        // The whole transaction was rolled back, so it may be repeated.
        if (attempt < ATTEMPTS && (isPassing(error) || plans.isLost(error))) continue
        throw failures.asThrown(error)
      }
    }
  }

  return {
    limits,
    /** Runs one statement with parameters. */
    query: async (sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
      (await run(({ client }) => ask(client, sql, values)))[0] ?? [],
    batch: (statements: string, settings: readonly string[] = []) =>
      run(async ({ client, batch }) => {
        const planned = await plans.forConnection(client, statements, (text) => batch(text, settings))
        return batch(planned.statements, [...settings, ...planned.settings])
      }),
    checkOut,
    async close(): Promise<void> {
      if (hosts === undefined) {
        pool.off('error', ignore)
        pool.off('connect', survive)
        return
      }
      await deadlines.ended(pool.end())
    },
  }
}

/** Old versions of `pg` do not tell. */
function isInTransaction(client: PoolClient): boolean {
  if (!('getTransactionStatus' in client)) return false
  const status = client.getTransactionStatus()
  return status === 'T' || status === 'E'
}

/** The rows of one result of `pg`, as objects. */
function rowsOf(result: unknown): readonly Row[] {
  return isRecord(result) && areRows(result['rows']) ? result['rows'] : []
}

function areRows(rows: unknown): rows is readonly Row[] {
  return Array.isArray(rows)
}

/** Uses the application's pool, or creates one. No use of it hangs, and no error ends the process. */
export async function reach(settings: Settings, report: (error: MessagingWebhooksError) => void = () => {}) {
  const failures = createPostgresFailures(secretsOf(settings))
  const given = settings.pool === undefined ? await ownPool(settings) : { pool: settings.pool, hosts: undefined }
  return { pool: given.pool, failures, connections: createConnections(given, settings, failures, report) }
}

/** Closes the connections after `work`. */
export async function reachOnce<T>(
  settings: Settings,
  work: (reached: Awaited<ReturnType<typeof reach>>) => Promise<T>,
): Promise<T> {
  const reached = await reach(settings)
  try {
    return await work(reached)
  } finally {
    await reached.connections.close()
  }
}

async function ownPool({ connectionString = '', maxConnections, ...limits }: Settings) {
  const pg = await loadPg()
  const hosts = createHosts(connectionString)

  /** Passes on a connection to a server that accepts writes. */
  function verify(client: PoolClient, done: (error?: Error) => void): void {
    createDeadlines('Postgres', limits)
      .opened(client.query<Row>({ text: FIND_READ_ONLY, types: AS_SENT }))
      .then(({ rows: [row] }) => {
        if (row === undefined || truth(row, 'is_on')) throw readOnly()
      })
      .then(() => done(), done)
  }

  const pool = new pg.Pool({
    connectionString: hosts.current(),
    max: maxConnections,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    keepAlive: true,
    application_name: 'messaging-webhooks',
    // With one host, skip the round trip: a standby refuses the first write anyway.
    ...(hosts.count === 1 ? {} : { verify }),
  })
  return { pool, hosts }
}

/** Loads the driver when a store is opened. */
export async function loadPg(): Promise<Pick<typeof Pg, 'Client' | 'Pool'>> {
  return loadPeer(import('pg'), 'postgresStore needs pg: npm install pg.')
}

/** Scheme and credentials, hosts, and the rest. */
const PARTS = /^([^:/?#]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s

/** One address for each host of `postgres://user:password@first:5432,second:5432/database`. */
export function addressesIn(connectionString: string): readonly [string, ...string[]] {
  const [, start = '', hosts = '', rest = ''] = PARTS.exec(connectionString) ?? []
  const [first = '', ...others] = hosts.split(',')
  if (others.length === 0) return [connectionString]
  return [start + first + rest, ...others.map((host) => start + host + rest)]
}

/** Several hosts in one address, as libpq writes them. The store uses the one that accepts writes. */
export function createHosts(connectionString: string) {
  const addresses = addressesIn(connectionString)
  let [current] = addresses
  return {
    count: addresses.length,
    current: (): string => current,
    /** Moves to the next address after this one failed or refused writes, unless another caller already has. */
    leave(address: string): void {
      if (address === current) current = addresses[(addresses.indexOf(current) + 1) % addresses.length] ?? current
    },
  }
}

/** A standby refuses writes, and so does a server or role that is read-only by default. */
const FIND_READ_ONLY = /* sql */ `SELECT current_setting('transaction_read_only') = 'on' AS is_on`

function readOnly(): MessagingWebhooksError {
  return new MessagingWebhooksError('store_failed', 'The server accepts no writes: it is a standby, or read-only.')
}
