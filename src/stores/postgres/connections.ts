/** The connection pool. Every use has a time limit, and a connection that did not answer in time is not used again. */
import type * as Pg from 'pg'
import type { ClientBase, Pool, PoolClient } from 'pg'
import type { Sql } from '../../runtime/sql.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ATTEMPTS, createDeadlines, loadPeer, type TimeLimits } from '../sql/connecting.ts'
import type { Ask } from '../sql/dialect.ts'
import type { Failures } from '../sql/failures.ts'
import { createPostgresFailures, hasState, isPassing, isRefusal, READ_ONLY, secretsOf } from './failures.ts'
import { createHosts, refuseReadOnly, type Hosts } from './hosts.ts'
import type { Rows } from './query.ts'
import { createSessions, type Step } from './sessions.ts'
import type { Settings } from './settings.ts'

/** Runs statements within the time limits, all or none of them, and returns the rows of each. */
export type Change = (steps: readonly Step[]) => Promise<readonly Rows[]>

export type Connections = ReturnType<typeof createConnections>

/** A connection taken from the pool. */
export interface Session {
  readonly client: ClientBase
  /** Begins a transaction. Answers the time at which it began. */
  begin(): Promise<unknown>
  /** When the current transaction began. */
  beginning(): Promise<unknown>
  /** Both within the open transaction. */
  readonly ask: Ask
  readonly change: Change
  /** Runs a text without values, which may be several statements, and returns the rows of the last. */
  script(text: Sql): Promise<Rows>
  /** Returns the connection to the pool. With an `error`, closes it. */
  release(error?: Error): void
}

/** `hosts`: undefined for the application's pool, which is not closed with the store. */
function createConnections(
  { pool, hosts }: { readonly pool: Pool; readonly hosts: Hosts | undefined },
  limits: TimeLimits,
  failures: Failures,
  report: (error: MessagingWebhooksError) => void,
) {
  // The pool emits an error when an idle connection breaks. Without a listener the process would exit.
  const ignore = (): void => {}
  const sessions = createSessions(limits, hosts !== undefined)
  const { answered, ...deadlines } = createDeadlines('Postgres', limits)
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

  /** Takes a connection for a transaction. The caller must release it. */
  async function checkOut(): Promise<Session> {
    const client = await connectClean()
    // Without a listener, a connection that breaks between two statements would end the process.
    client.on('error', ignore)
    function release(error?: Error): void {
      client.off('error', ignore)
      client.release(error)
    }
    if (!sessions.isReady(client))
      try {
        await answered(sessions.setUp(client))
      } catch (error) {
        release(failures.cleaned(error))
        throw error
      }
    return {
      client,
      begin: () => answered(sessions.begin(client)),
      beginning: () => answered(sessions.beginning(client)),
      ask: (statement, values = []) => answered(sessions.askWithin(client, { statement, values })),
      change: (steps) => answered(sessions.within(client, steps)),
      script: (text) => answered(sessions.send(client, { text })),
      release,
    }
  }

  async function once<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    const { client, release } = await checkOut()
    try {
      const answer = await answered(work(client))
      release()
      return answer
    } catch (error) {
      // A refused statement was rolled back, so the connection is still usable. Close a connection to a standby: the next one
      // may reach the primary.
      release(isRefusal(error) && !hasState(error, READ_ONLY) ? undefined : failures.cleaned(error))
      throw error
    }
  }

  async function run<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once(work)
      } catch (error) {
        // The whole transaction was rolled back, so it may be repeated.
        if (attempt < ATTEMPTS && (isPassing(error) || sessions.isAvoidable(error))) continue
        throw failures.asThrown(error)
      }
    }
  }

  const ask: Ask = (statement, values = []) => run((client) => sessions.ask(client, { statement, values }))
  const change: Change = (steps) => run((client) => sessions.change(client, steps))
  return {
    ask,
    change,
    /** Like `script` of a session. */
    script: (text: Sql): Promise<Rows> => run((client) => sessions.send(client, { text })),
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

/** Before 8.21, `pg` does not tell. */
function isInTransaction(client: PoolClient): boolean {
  if (!('getTransactionStatus' in client)) return false
  const status = client.getTransactionStatus()
  return status === 'T' || status === 'E'
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

async function ownPool({ connectionString = '', maxConnections, transactional, ...limits }: Settings) {
  const pg = await loadPg()
  const hosts = createHosts(connectionString)
  const { opened } = createDeadlines('Postgres', limits)

  /** Passes on a connection to a server that accepts writes. */
  function verify(client: PoolClient, done: (error?: Error) => void): void {
    opened(refuseReadOnly(client)).then(() => done(), done)
  }

  const pool = new pg.Pool({
    connectionString: hosts.current(),
    max: maxConnections,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    keepAlive: true,
    application_name: 'messaging-webhooks',
    // A handler may use a cursor on the connection of its transaction.
    pipeline: !transactional,
    // With one host, skip the round trip: a standby refuses the first write anyway.
    ...(hosts.count === 1 ? {} : { verify }),
  })
  return { pool, hosts }
}

/** Loads the driver when a store is opened. Only its newer versions export names to ES modules. */
export async function loadPg(): Promise<Pick<typeof Pg, 'Client' | 'Pool'>> {
  return (await loadPeer(import('pg'), 'postgresStore needs pg: npm install pg.')).default
}
