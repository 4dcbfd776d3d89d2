/** What the errors of Postgres mean. */
import { isError } from '../../runtime/values.ts'
import type { Settings } from './settings.ts'
import { createFailures, secretsIn, type Failures } from '../sql/failures.ts'

/** The role lacks a privilege. */
export const INSUFFICIENT_PRIVILEGE = '42501'
/** A write on a standby. */
export const READ_ONLY = '25006'
/** PgBouncer's answer to `BEGIN` in statement mode. */
export const PROTOCOL_VIOLATION = '08P01'

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

/** Whether the server refused a statement and keeps the connection, whatever the reason. Only the transaction has failed. */
export function isRefusal(error: unknown): boolean {
  return isError(error) && 'severity' in error && error.severity === 'ERROR'
}

export function hasState(error: unknown, state: string): boolean {
  return sqlState(error) === state
}

/** `secrets`: passwords, which no text may contain. */
export function createPostgresFailures(secrets: readonly string[]): Failures {
  const reader = {
    engine: 'Postgres',
    errorName: 'PostgresError',
    messageOf,
    codeOf: sqlState,
    isOfTheData: (error: unknown) => OF_THE_DATA.test(sqlState(error) ?? ''),
    isForbidden: (error: unknown) => hasState(error, INSUFFICIENT_PRIVILEGE),
  }
  return createFailures(reader, secrets)
}

/** `detail`, `where` and `query` quote rows, and an error about an invalid URL contains the URL, so only the message is kept. */
function messageOf(error: Error): string {
  // If several addresses refused the connection, the message is empty.
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message
  return error.errors.map((each: unknown) => (isError(each) ? each.message : '')).join('; ')
}

/** The secrets in the addresses and in the settings of a pool. */
export function secretsOf({ pool, connectionString, listenConnectionString }: Settings): readonly string[] {
  const { connectionString: ofPool, password } = pool?.options ?? {}
  const secrets = secretsIn([connectionString, listenConnectionString, ofPool])
  return typeof password === 'string' ? [...secrets, password] : secrets
}
