/** The two logs of a receiver: what came while the store was away, and what the store refused although it was there. */
import { join } from 'node:path'
import type { MessagingWebhooksError } from '../../errors.ts'
import { openSpool, type Spool, type SpoolOptions } from './spool.ts'

export interface Spools {
  /** Emptied as soon as the store is back. */
  readonly outage: Spool
  /** Tried again at each start, so that it stops nobody meanwhile. */
  readonly aside: Spool
}

/** What is set aside is rare and small, and needs no room of its own on a full disk. */
const ASIDE_RESERVE_BYTES = 0

export async function openSpools(
  folder: string,
  report: (error: MessagingWebhooksError) => void,
  options: Omit<SpoolOptions, 'folder' | 'report'> = {},
): Promise<Spools> {
  const outage = await openSpool({ ...options, folder, report })
  try {
    const aside = await openSpool({
      ...options,
      folder: join(folder, 'refused'),
      report,
      reserveBytes: ASIDE_RESERVE_BYTES,
    })
    return { outage, aside }
  } catch (error) {
    await outage.close()
    throw error
  }
}
