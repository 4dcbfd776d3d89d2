/** What the errors of MySQL mean. */
import { isError, isRecord } from '../../runtime/values.ts'
import { createFailures, type Failures } from '../sql/failures.ts'

/** A deadlock, and a row that another process inserted first. */
const CONFLICTS = new Set([1213, 1062])
/** The role lacks a privilege: on the database, a table, a column, or in general. */
const FORBIDDEN = new Set([1044, 1142, 1143, 1227])
/**
 * Caused by the server, its resources or an operator, although a statement was refused: too many connections (1040), shutdown
 * (1053), disk (1021, 1026, 1114), failed commit (1180), read-only (1290, 1836), interrupted or out of time (1317, 1969, 3024),
 * closed connection (1927, 4031).
 */
const OF_THE_SERVER = new Set([1021, 1026, 1040, 1053, 1114, 1180, 1290, 1317, 1836, 1927, 1969, 3024, 4031])
/** SQLSTATE classes caused by what was sent: cardinality, data, integrity. */
const OF_THE_DATA = /^(21|22|23)/

/** Another process changed the same rows at the same time. The transaction was rolled back: read again. */
export class Conflict extends Error {
  override readonly name = 'Conflict'
}

/** The number of a server error. Undefined for errors of the network and of the driver. */
function numberOf(error: unknown): number | undefined {
  if (!isError(error) || !('errno' in error) || !('sqlState' in error)) return undefined
  return typeof error.errno === 'number' && typeof error.sqlState === 'string' ? error.errno : undefined
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(numberOf(error) ?? 0)
}

/** The savepoint does not exist. */
export function isOfNoSavepoint(error: unknown): boolean {
  return numberOf(error) === 1305
}

function isForbidden(error: unknown): boolean {
  return FORBIDDEN.has(numberOf(error) ?? 0)
}

/** The server refused a statement and is available: something sent in the transaction caused it. */
export function isOfTheStatement(error: unknown): boolean {
  const number = numberOf(error)
  const isFatal = isRecord(error) && error['fatal'] === true
  return number !== undefined && !isFatal && !OF_THE_SERVER.has(number)
}

/** `secrets`: passwords, which no text may contain. */
export function createMysqlFailures(secrets: readonly string[]): Failures {
  const reader = { engine: 'MySQL', errorName: 'MysqlError', messageOf, codeOf: numberOf, isOfTheData, isForbidden }
  return createFailures(reader, secrets)
}

function messageOf(error: Error): string {
  let { message } = error
  // If several addresses refused the connection, the message is empty.
  if (message === '' && 'code' in error) message = String(error.code)
  // A message about a value quotes it.
  return isOfTheData(error) ? message.replaceAll(/'[^']*'/g, "'…'") : message
}

function isOfTheData(error: unknown): boolean {
  return isError(error) && 'sqlState' in error && OF_THE_DATA.test(String(error.sqlState))
}
