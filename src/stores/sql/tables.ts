/** The versions of tables, the numbers that they accept, and the privileges on them. */
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { StoreHost } from '../../inbox/store.ts'
import type { RowsOf } from './dialect.ts'

/** A number that JavaScript cannot represent exactly would make a query unreadable, and with it the other rows. */
export const EXACT = `BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`

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
  rowsOf: RowsOf,
  required: readonly (readonly [table: string, first: string, ...others: string[]])[],
  { claims, report }: StoreHost,
): Promise<void> {
  const statements = required.flatMap(([table, first, ...others]) => [
    `INSERT INTO ${table} (${[first, ...others].join(', ')}) SELECT ${[first, ...others].join(', ')} FROM ${table} WHERE false`,
    `UPDATE ${table} SET ${first} = ${first} WHERE false`,
    `DELETE FROM ${table} WHERE false`,
  ])
  try {
    await rowsOf(...statements)
  } catch (error) {
    if (claims !== false || !(error instanceof MessagingWebhooksError)) throw error
    report?.(error)
  }
}
