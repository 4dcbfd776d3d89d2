/** What the verbs share: connections, the schema, the time-outs, and whose clock counts. */
import type { Connections } from './connections.ts'
import { fill, inSchema, SERVER_NOW } from './sql-text.ts'
import { LIMITS } from './statements/limits.ts'
import { READ_COMMITTED } from './statements/read-committed.ts'

export interface Engine {
  readonly connections: Connections
  /** Puts the schema into a statement. */
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
}): Engine {
  const { connections, schema, clock } = options
  const { lockTimeoutMs, queryTimeoutMs } = connections.limits
  const limits = fill(LIMITS, { lockMs: String(Math.ceil(lockTimeoutMs)), queryMs: String(Math.ceil(queryTimeoutMs)) })
  return {
    connections,
    limits,
    sql: (statement) => inSchema(statement, schema),
    now: (nowMs) => ({ sql: clock === 'server' ? SERVER_NOW : String(Math.floor(nowMs)) }),
    together: async (filled) => (await connections.batch(READ_COMMITTED + limits + filled)).slice(BEFORE),
  }
}
