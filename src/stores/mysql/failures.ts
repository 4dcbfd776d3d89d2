/** Converts errors of MySQL and the network into errors that are safe to show and tell what caused them. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import { isError, isRecord } from '../../runtime/values.ts'
import { createRedaction } from '../secrets.ts'

const LONGEST_MESSAGE = 500

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

function isForbidden(error: unknown): boolean {
  return FORBIDDEN.has(numberOf(error) ?? 0)
}

/** The server refused a statement and is available: something sent in the transaction caused it. */
export function isOfTheStatement(error: unknown): boolean {
  const number = numberOf(error)
  const isFatal = isRecord(error) && error['fatal'] === true
  return number !== undefined && !isFatal && !OF_THE_SERVER.has(number)
}

export interface Failures {
  /**
   * The error that a store operation rejects with. A `MessagingWebhooksError` means that the store is unavailable. Any other
   * error means that an event caused it, and the inbox looks for that event.
   */
  asThrown(error: unknown): Error
  /** The same error without what it may quote: rows, statements, passwords. */
  cleaned(error: unknown): Error
}

/** `secrets`: passwords, which no text may contain. */
export function createFailures(secrets: readonly string[]): Failures {
  const redacted = createRedaction(secrets)

  function cleaned(error: unknown): Error {
    // `sql` has the statement with its rows, so keep only the message.
    let message = isError(error) ? error.message : 'A value was thrown that is not an error.'
    // If several addresses refused the connection, the message is empty.
    if (message === '' && isError(error) && 'code' in error) message = String(error.code)
    // A message about a value quotes it.
    if (OF_THE_DATA.test(stateOf(error))) message = message.replaceAll(/'[^']*'/g, "'…'")
    const number = numberOf(error)
    const end = number === undefined ? '' : ` (${number})`
    const clean = new Error(`MySQL: ${redacted(message).slice(0, LONGEST_MESSAGE)}${end}`)
    clean.name = 'MysqlError'
    return clean
  }

  return {
    cleaned,
    asThrown(error) {
      if (error instanceof MessagingWebhooksError) return error
      const clean = cleaned(error)
      if (OF_THE_DATA.test(stateOf(error))) return clean
      const code = isForbidden(error) ? 'store_forbidden' : 'store_failed'
      return new MessagingWebhooksError(code, undefined, { cause: clean })
    },
  }
}

function stateOf(error: unknown): string {
  return isError(error) && 'sqlState' in error && typeof error.sqlState === 'string' ? error.sqlState : ''
}
