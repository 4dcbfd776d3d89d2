/** The versions of tables, and the numbers that they accept. */
import { MessagingWebhooksError } from '../../public/errors.ts'

/** A number that JavaScript cannot represent exactly would make a query unreadable, and with it the other rows. */
export const EXACT = `BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`

/** The number of migrations before and now. */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/** Throws for tables that a later version of this package has changed. `tables`: the subject of the message. */
export function refuseNewer(tables: string, version: number, known: number): void {
  if (version > known)
    throw new MessagingWebhooksError('store_newer', `${tables} version ${version}; this package knows ${known}.`)
}
