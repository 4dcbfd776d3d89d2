/** Converts errors of Postgres and the network into errors that name their cause and are safe to show. */
import type { Pool } from 'pg'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { isError } from '../../runtime/values.ts'
import { createRedaction, secretsIn } from '../secrets.ts'

/** The role lacks a privilege. */
export const INSUFFICIENT_PRIVILEGE = '42501'
/** A write on a standby. */
export const READ_ONLY = '25006'
/** PgBouncer's answer to `BEGIN` in statement mode. */
export const PROTOCOL_VIOLATION = '08P01'

const LONGEST_MESSAGE = 500

/** SQLSTATE classes caused by the statement: data, integrity, cardinality, program limits. */
const OF_THE_DATA = /^(21|22|23|54)/
/** Classes caused by the connection, resources, an operator or the system. */
const OF_THE_SERVER = /^(08|28|3D|53|55|57|58|XX)/
/** A deadlock, or a conflict under a stricter isolation level. The same statement will probably succeed. */
const PASSING = new Set(['40P01', '40001'])

/** The five characters of a Postgres error code. */
function sqlState(error: unknown): string | undefined {
  if (!isError(error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}

export function isPassing(error: unknown): boolean {
  return PASSING.has(sqlState(error) ?? '')
}

/** Whether a statement of the transaction caused the error, rather than an unavailable server. */
export function isOfTheStatement(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && state !== READ_ONLY && !OF_THE_SERVER.test(state)
}

export function hasState(error: unknown, state: string): boolean {
  return sqlState(error) === state
}

export interface Failures {
  /**
   * The error that a store operation rejects with. A `MessagingWebhooksError` means that the store is unavailable. Any other
   * error means that an event caused it, and the inbox looks for that event.
   */
  asThrown(error: unknown): Error
  /** The error without the rows, statements and passwords that it may quote. */
  cleaned(error: unknown): Error
}

/** `secrets`: passwords, which no text may contain. */
export function createFailures(secrets: readonly string[]): Failures {
  const redacted = createRedaction(secrets)

  function cleaned(error: unknown): Error {
    // `detail`, `where` and `query` quote rows, and an error about an invalid URL contains the URL, so keep only the message.
    let message = isError(error) ? error.message : 'A value was thrown that is not an error.'
    // If several addresses refused the connection, the message is empty.
    if (message === '' && error instanceof AggregateError)
      message = error.errors.map((each: unknown) => (isError(each) ? each.message : '')).join('; ')
    const state = sqlState(error)
    const clean = new Error(
      `Postgres: ${redacted(message).slice(0, LONGEST_MESSAGE)}${state === undefined ? '' : ` (${state})`}`,
    )
    clean.name = 'PostgresError'
    return clean
  }

  return {
    cleaned,
    asThrown(error) {
      if (error instanceof MessagingWebhooksError) return error
      const clean = cleaned(error)
      if (OF_THE_DATA.test(sqlState(error) ?? '')) return clean
      const code = hasState(error, INSUFFICIENT_PRIVILEGE) ? 'store_forbidden' : 'store_failed'
      return new MessagingWebhooksError(code, undefined, { cause: clean })
    },
  }
}

/** The secrets in the addresses and in the settings of a pool. */
export function secretsOf(pool: Pool | undefined, ...addresses: readonly (string | undefined)[]): readonly string[] {
  const set = pool?.options.password
  return [...secretsIn([...addresses, pool?.options.connectionString]), ...(typeof set === 'string' ? [set] : [])]
}
