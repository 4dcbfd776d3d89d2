/** The optional peer dependency: loaded when a store is opened, so that the package works without it. */
import type * as Pg from 'pg'
import { MessagingWebhooksError } from '../../errors.ts'

/** Rejects with `peer_missing` where it is not installed. */
export async function loadPg(): Promise<Pick<typeof Pg, 'Client' | 'Pool'>> {
  try {
    return await import('pg')
  } catch (error) {
    throw new MessagingWebhooksError('peer_missing', 'postgresStore needs pg: npm install pg.', { cause: error })
  }
}
