/**
 * Statements that a connection keeps planned, by SQL's PREPARE and EXECUTE, which fit into the round trip of the settings. The
 * server takes longer to plan a statement for one message than to run it.
 *
 * The tables may grow after a statement was planned, so no plan may read a whole table. Behind a pooler that shares connections
 * among sessions, a plan can be missing or belong to another session; from then on, statements are sent without plans. The name
 * of a plan is a digest of its statement, so equal names mean equal statements, whichever session made the plan.
 */
import { createHash } from 'node:crypto'
import type { ClientBase } from 'pg'
import { hasState, isOfTheStatement } from './failures.ts'

/** Separates values and their types from the text of a statement. No value contains it. */
const MARK = '\0'
/** Uses of a statement on a connection before it is planned. */
const USES_BEFORE = 3
const MAX_PLANS = 100
const NO_SCANS = 'SET LOCAL enable_seqscan = off;'
/** The plan does not exist, exists already, or is outdated because the tables have changed. */
const LOST = ['26000', '42P05', '0A000'] as const

/** A value in a statement. A planned statement has a parameter in its place. */
export function parameter(literal: string, type: string): string {
  return `${MARK}${literal}${MARK}${type}${MARK}`
}

/** The statements with their values written out. */
export function writtenOut(statements: string): string {
  if (!statements.includes(MARK)) return statements
  const parts = statements.split(MARK)
  return parts.map((part, index) => (index % 3 === 1 ? `${part}::` : part)).join('')
}

/** `areKept`: false for the application's pool, because plans would change its connections. */
export function createPlans(areKept: boolean) {
  /** For each connection and statement: the name of its plan, or the number of uses before it gets one. */
  const connections = new WeakMap<ClientBase, Map<string, string | number>>()

  function of(client: ClientBase): Map<string, string | number> {
    const plans = connections.get(client) ?? new Map<string, string | number>()
    connections.set(client, plans)
    return plans
  }

  return {
    /** Returns the statements to send on this connection, and the settings to add. */
    async forConnection(client: ClientBase, statements: string, prepare: (statement: string) => Promise<unknown>) {
      if (!areKept || !statements.includes(MARK)) return unplanned(statements)
      const plans = of(client)
      const { text, types, values } = partsOf(statements)
      let plan = plans.get(text) ?? 0
      if (typeof plan === 'number' && plan < USES_BEFORE) {
        if (plans.size < MAX_PLANS) plans.set(text, plan + 1)
        return unplanned(statements)
      }
      if (typeof plan === 'number') {
        plan = `mw_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
        try {
          await prepare(`PREPARE ${plan} (${types.join(', ')}) AS ${text}`)
        } catch (error) {
          if (!isOfTheStatement(error)) throw error
          areKept = false
          return unplanned(statements)
        }
        plans.set(text, plan)
      }
      return { settings: [NO_SCANS], statements: `EXECUTE ${plan} (${values.join(', ')});` }
    },
    /** Whether the plan caused this error. The statements may then be run again, without plans. */
    isLost(error: unknown): boolean {
      if (!LOST.some((state) => hasState(error, state))) return false
      areKept = false
      return true
    },
  }
}

function unplanned(statements: string) {
  return { settings: [], statements: writtenOut(statements) }
}

function partsOf(statement: string): Readonly<{ text: string; types: readonly string[]; values: readonly string[] }> {
  const texts: string[] = []
  const [values, types]: [string[], string[]] = [[], []]
  for (const [index, part] of statement.split(MARK).entries()) {
    if (index % 3 === 1) values.push(part)
    else if (index % 3 === 2) texts.push(`$${types.push(part)}`)
    else texts.push(part)
  }
  return { text: texts.join(''), types, values }
}
