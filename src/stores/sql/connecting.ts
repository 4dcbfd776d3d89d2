/**
 * Connecting to a server: the settings that the stores share, the driver, the time limits of connections and statements, and the
 * privileges of the role.
 */
import { z } from 'zod'
import { systemClock, withDeadline } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { millisecondsAboveZero, wholeNumberFrom } from '../../runtime/check-options.ts'
import type { StoreHost } from '../../inbox/store.ts'
import { RETENTION_OPTIONS } from '../retention-options.ts'
import { joined, plainName, sql, type Sql } from '../../runtime/sql.ts'

const MAX_CONNECTIONS = 10_000

/** The options that the stores on SQL servers share. */
export const SQL_OPTIONS = {
  /** Gives handlers `context.transaction`, in which the event is settled too. Default `false`. */
  transactional: z.boolean().default(false),
  /** Connections of the store's own pool. With `transactional`, two fewer than this are for handlers. Default 10. */
  maxConnections: wholeNumberFrom(1, MAX_CONNECTIONS).default(10),
  ...RETENTION_OPTIONS,
  /** How long to wait for a connection. Default 5,000 ms. */
  connectTimeoutMs: millisecondsAboveZero.default(5_000),
  /** How long the server may work on a statement. Default 10,000 ms. */
  queryTimeoutMs: millisecondsAboveZero.default(10_000),
  /** How long a statement may wait for a lock. MySQL counts whole seconds. Default 3,000 ms. */
  lockTimeoutMs: millisecondsAboveZero.default(3_000),
}

export type SqlSettings = z.output<z.ZodObject<typeof SQL_OPTIONS>>
export type TimeLimits = Pick<SqlSettings, 'connectTimeoutMs' | 'queryTimeoutMs' | 'lockTimeoutMs'>

/** Extra time for the server to report that it cancelled a statement. */
export const MARGIN_MS = 1_000
/** How often a statement runs that conflicts with others. */
export const ATTEMPTS = 4

/** `engine`: its name in messages. */
export function createDeadlines(engine: string, { connectTimeoutMs, queryTimeoutMs }: TimeLimits) {
  const clock = systemClock()

  function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
    return withDeadline(clock, timeoutMs, work, () => {
      throw new MessagingWebhooksError('store_slow', `${engine} did not answer in time.`)
    })
  }

  const opened = <T>(opening: Promise<T>): Promise<T> => inTime(opening, connectTimeoutMs)

  return {
    opened,
    /** Waits for a connection of a pool. */
    async connected<Client extends { release(): void }>(connecting: Promise<Client>): Promise<Client> {
      try {
        return await opened(connecting)
      } catch (error) {
        // A connection that arrives late goes back to the pool.
        connecting.then(
          (client) => client.release(),
          () => {},
        )
        throw error
      }
    },
    answered: <T>(asked: Promise<T>): Promise<T> => inTime(asked, queryTimeoutMs + MARGIN_MS),
    /** Abandons connections that hang, so that the process can end. */
    ended: (ending: Promise<unknown>): Promise<unknown> =>
      withDeadline(clock, connectTimeoutMs, ending, () => undefined),
  }
}

/** Loads an optional peer dependency when a store is opened. Rejects with `peer_missing` if it is not installed. */
export async function loadPeer<Peer>(loading: Promise<Peer>, message: string): Promise<Peer> {
  try {
    return await loading
  } catch (error) {
    throw new MessagingWebhooksError('peer_missing', message, { cause: error })
  }
}

/** The number of migrations before and now. */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/**
 * Rejects with `store_forbidden` if the role lacks a privilege that the operations need; a store that does not dispatch reports
 * it instead, because it may be used to read. Changes nothing. `required`: the columns of each table without a default.
 */
export async function checkPrivileges(
  run: (statements: readonly Sql[]) => Promise<unknown>,
  required: readonly (readonly [table: Sql, first: string, ...others: string[]])[],
  { claims, report }: StoreHost,
): Promise<void> {
  const statements = required.flatMap(([table, first, ...others]) => {
    const columns = joined([first, ...others].map(plainName))
    const column = plainName(first)
    return [
      sql`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${table} WHERE false`,
      sql`UPDATE ${table} SET ${column} = ${column} WHERE false`,
      sql`DELETE FROM ${table} WHERE false`,
    ]
  })
  try {
    await run(statements)
  } catch (error) {
    if (claims || !(error instanceof MessagingWebhooksError)) throw error
    report(error)
  }
}
