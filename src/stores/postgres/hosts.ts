/** Several hosts in one address, as libpq writes them. The store uses the one that accepts writes. */
import type { PoolClient } from 'pg'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { sql } from '../../runtime/sql.ts'
import { sendQuery } from './query.ts'

/** Scheme and credentials, hosts, and the rest. */
const PARTS = /^([^:/?#]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s

/** One address for each host of `postgres://user:password@first:5432,second:5432/database`. */
export function addressesIn(connectionString: string): readonly [string, ...string[]] {
  const [, start = '', hosts = '', rest = ''] = PARTS.exec(connectionString) ?? []
  const [first = '', ...others] = hosts.split(',')
  if (others.length === 0) return [connectionString]
  return [start + first + rest, ...others.map((host) => start + host + rest)]
}

export type Hosts = ReturnType<typeof createHosts>

export function createHosts(connectionString: string) {
  const addresses = addressesIn(connectionString)
  let [current] = addresses
  return {
    count: addresses.length,
    current: (): string => current,
    /** Moves to the next address after this one failed or refused writes, unless another caller already has. */
    leave(address: string): void {
      if (address === current) current = addresses[(addresses.indexOf(current) + 1) % addresses.length] ?? current
    },
  }
}

/** A standby refuses writes, and so does a server or role that is read-only by default. */
const FIND_READ_ONLY = sql`SELECT current_setting('transaction_read_only') AS setting`

/** Rejects for a server that accepts no writes. */
export async function refuseReadOnly(client: PoolClient): Promise<void> {
  const [row] = await sendQuery(client, { text: FIND_READ_ONLY })
  if (row?.['setting'] === 'off') return
  throw new MessagingWebhooksError('store_failed', 'The server accepts no writes: it is a standby, or read-only.')
}
