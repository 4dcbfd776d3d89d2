/**
 * How a connection runs statements. On a connection of the store's own to a server, the session has the time limits, and statements
 * are prepared under their names. A pooler may use another connection for each transaction, and connections of the application's
 * pool are not the store's to set: there, each transaction sets the limits, and statements have no names. A pooler in statement
 * mode refuses transactions: there, only the client has limits.
 */
import type { ClientBase } from 'pg'
import { MARGIN_MS, type TimeLimits } from '../sql/connecting.ts'
import type { Statement, Value } from '../sql/dialect.ts'
import { sql, type Sql } from '../../runtime/sql.ts'
import { hasState, isOfTheStatement, isRefusal, PROTOCOL_VIOLATION } from './failures.ts'
import { sendQuery, type Query, type Rows } from './query.ts'

export interface Step {
  readonly statement: Statement
  readonly values: readonly Value[]
}

/** Returns every value as the text of the server, because the application may have set parsers of its own. */
const AS_SENT = { getTypeParser: () => (value: unknown) => value }

const BEGIN = sql`BEGIN ISOLATION LEVEL READ COMMITTED`
export const COMMIT = sql`COMMIT`
export const ROLLBACK = sql`ROLLBACK`
/** When the transaction began, which the server keeps until its end. */
const FIND_BEGINNING = sql`SELECT now() AS began`
const FIND_PROCESS = sql`SELECT pg_backend_pid() AS process`
const SET_LIMITS = sql`SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)`
/**
 * Plans are made once, because planning takes longer than a statement, and the tables may grow afterwards. So they look up each row
 * of a list by an index, whatever the size of a table at first, and are not compiled.
 */
const SET_SESSION = sql`
SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', $2, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_seqscan', 'off', false),
  set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false), set_config('jit', 'off', false)`

const RESET = sql`; SET LOCAL lock_timeout TO DEFAULT; SET LOCAL statement_timeout TO DEFAULT;
SET LOCAL plan_cache_mode TO DEFAULT; SET LOCAL enable_seqscan TO DEFAULT;
SET LOCAL enable_hashjoin TO DEFAULT; SET LOCAL enable_mergejoin TO DEFAULT; SET LOCAL jit TO DEFAULT`

/** The statement is not prepared, is prepared already, or is outdated because the tables have changed. */
const LOST = ['26000', '42P05', '0A000'] as const

/** `isOwn`: whether the store may set its connections. */
export function createSessions({ lockTimeoutMs, queryTimeoutMs }: TimeLimits, isOwn: boolean) {
  const limits = [lockTimeoutMs, queryTimeoutMs].map((ms) => String(Math.ceil(ms)))
  // Later than the caller gives up, `pg` closes the connection. In a pipeline, it would otherwise wait for the answer first.
  const query_timeout = queryTimeoutMs + 2 * MARGIN_MS
  const send = (client: ClientBase, query: Query): Promise<Rows> =>
    sendQuery(client, { ...query, types: AS_SENT, query_timeout })
  /** Whether the session of each connection is set. */
  const areSet = new WeakMap<ClientBase, boolean>()
  let hasNames = isOwn
  let hasTransactions = true

  /** Behind a pooler, the process that answers is not the one that the connection was told of. */
  async function setSession(client: ClientBase): Promise<boolean> {
    const [row] = await send(client, { text: FIND_PROCESS })
    if (!('processID' in client) || String(client.processID) !== row?.['process']) {
      // A pooler in statement mode refuses this, and disconnects.
      if (hasTransactions) {
        await send(client, { text: BEGIN })
        await send(client, { text: ROLLBACK })
      }
      return false
    }
    try {
      await send(client, { text: SET_SESSION, values: limits })
      return true
    } catch (error) {
      // A compatible engine may lack a setting.
      if (isOfTheStatement(error)) return false
      throw error
    }
  }

  const isSet = (client: ClientBase): boolean => areSet.get(client) === true

  function run(client: ClientBase, step: Step): Promise<Rows> {
    if (!hasNames || !isSet(client)) return runUnnamed(client, step)
    const { statement, values } = step
    return send(client, { name: statement.name, text: statement.text, values: [...values] })
  }

  function runUnnamed(client: ClientBase, { statement: { text }, values }: Step): Promise<Rows> {
    return send(client, { text, values: [...values] })
  }

  async function beginning(client: ClientBase, before: Sql): Promise<unknown> {
    return (await send(client, { text: sql`${before}${FIND_BEGINNING}` }))[0]?.['began']
  }

  /** Runs steps in one transaction, in one round trip if the connection can. */
  async function together(client: ClientBase, steps: readonly Step[], withLimits: boolean): Promise<readonly Rows[]> {
    const settings = withLimits ? [() => send(client, { text: SET_LIMITS, values: limits })] : []
    const before = [() => send(client, { text: BEGIN }), ...settings]
    const all = [...before, ...steps.map((step) => () => run(client, step)), () => send(client, { text: COMMIT })]
    const answers = await (isPipelined(client) ? atOnce(all) : oneByOne(all, () => send(client, { text: ROLLBACK })))
    return answers.slice(before.length, -1)
  }

  return {
    send,
    isReady: (client: ClientBase): boolean => !isOwn || areSet.has(client),
    /** Prepares a connection for its first use. */
    async setUp(client: ClientBase): Promise<void> {
      areSet.set(client, await setSession(client))
    },
    /** Runs one statement that only reads. */
    ask: (client: ClientBase, step: Step): Promise<Rows> => run(client, step),
    /** Runs statements within the time limits, all or none of them. */
    async change(client: ClientBase, steps: readonly Step[]): Promise<readonly Rows[]> {
      if (hasTransactions && (steps.length > 1 || !isSet(client))) return together(client, steps, !isSet(client))
      return oneByOne(steps.map((step) => () => run(client, step)))
    },
    /** Begins a transaction for a handler, without the settings of the store. Answers the time at which it began. */
    begin: (client: ClientBase): Promise<unknown> =>
      beginning(client, isSet(client) ? sql`${BEGIN}${RESET}; ` : sql`${BEGIN}; `),
    beginning: (client: ClientBase): Promise<unknown> => beginning(client, sql``),
    /** Like `ask` and `change`, in the transaction of a handler, in which a plan would be made without the settings of the store. */
    askWithin: runUnnamed,
    async within(client: ClientBase, steps: readonly Step[]): Promise<readonly Rows[]> {
      await send(client, { text: SET_LIMITS, values: limits })
      return oneByOne(steps.map((step) => () => runUnnamed(client, step)))
    },
    /** Whether the error may not recur, because from now on statements run in another way. */
    isAvoidable(error: unknown): boolean {
      if (!isOwn) return false
      if (LOST.some((state) => hasState(error, state))) hasNames = false
      else if (hasState(error, PROTOCOL_VIOLATION)) hasTransactions = false
      else return false
      return true
    },
  }
}

/** Older versions of `pg` know no pipelines. */
function isPipelined(client: ClientBase): boolean {
  return 'pipeline' in client && client.pipeline === true
}

/** Sends all, and then waits for the answers. A failure makes the server skip the rest of the transaction. */
async function atOnce<T>(all: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(all.map((send) => send()))
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}

/** Sends each after the answer to the one before. */
async function oneByOne<T>(all: readonly (() => Promise<T>)[], undo?: () => Promise<unknown>): Promise<readonly T[]> {
  const answers: T[] = []
  try {
    for (const send of all) answers.push(await send())
    return answers
  } catch (error) {
    // After any other error the connection is closed, which ends the transaction.
    if (isRefusal(error)) await undo?.()
    throw error
  }
}
