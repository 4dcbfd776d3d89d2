/** What the verbs share: connections, the schema and its functions, the time-outs, and whose clock counts. */
import type { Connections } from './connections.ts'
import { ofSet, type FunctionSet } from './functions/set.ts'
import { fill, inSchema, SERVER_NOW } from './sql-text.ts'

/** First in a transaction of several statements: each sees what was committed before it began, whatever the role's default. */
const READ_COMMITTED = /* sql */ 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED;'

/** None waits for ever: :lockMs and :queryMs, digits in quotes. Nothing of it outlives the transaction. */
const LIMITS = /* sql */ 'SET LOCAL lock_timeout = :lockMs; SET LOCAL statement_timeout = :queryMs;'

export interface Engine {
  readonly connections: Connections
  /** Puts the schema, and the number of the functions, into a statement. */
  sql(statement: string): string
  /** The time of a call, in the text of a statement: the server's, or the caller's own. */
  now(nowMs: number): { readonly sql: string }
  /** Several statements in one transaction, within the time-outs. The rows of each of them. */
  together(filled: string): Promise<readonly (readonly Readonly<Record<string, unknown>>[])[]>
  /** The time-outs alone, for a transaction that was begun before. */
  readonly limits: string
}

/** What READ_COMMITTED and LIMITS answer comes first. */
const BEFORE = 3

export function createEngine(options: {
  readonly connections: Connections
  readonly schema: string
  readonly clock: 'server' | 'caller'
  readonly functions: FunctionSet
}): Engine {
  const { connections, schema, clock, functions } = options
  const { lockTimeoutMs, queryTimeoutMs } = connections.limits
  const limits = fill(LIMITS, { lockMs: String(Math.ceil(lockTimeoutMs)), queryMs: String(Math.ceil(queryTimeoutMs)) })
  return {
    connections,
    limits,
    sql: (statement) => inSchema(ofSet(statement, functions), schema),
    now: (nowMs) => ({ sql: clock === 'server' ? SERVER_NOW : String(Math.floor(nowMs)) }),
    together: async (filled) => (await connections.batch(READ_COMMITTED + limits + filled)).slice(BEFORE),
  }
}

/**
 * The places of the items, by the keys of their messages; of one message in the order given. In this order every batch locks
 * its messages, so that no two wait for each other.
 */
export function placesByKey(items: readonly { readonly messageKey: string }[]): readonly number[] {
  const keys = items.map(({ messageKey }) => messageKey)
  return keys.map((_, place) => place).toSorted((a, b) => compare(keys[a] ?? '', keys[b] ?? '') || a - b)
}

/** As Postgres compares the bytes; `localeCompare` would not. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
