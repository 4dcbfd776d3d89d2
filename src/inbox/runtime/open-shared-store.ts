/** Opens a store on the user's own engine, and encodes payloads for engines that store text only. */
import { randomInt } from 'node:crypto'
import { retentionOf } from '../../messages/retention.ts'
import type { SharedStore, Payload } from '../record-store.ts'
import type { OpenStore, StoreHost } from '../store.ts'
import { createOpenStore } from './open-store.ts'
import { createSharedRunner } from './shared-runner.ts'
import { isRecord } from '../../runtime/values.ts'
import { isEventRecord } from '../../messages/event-record.ts'

/** The operations of a store on your own engine. With `overdue` and `scanSends` it also records sends. */
export type RecordStore = Omit<SharedStore, 'overdue' | 'scanSends'> &
  Partial<Pick<SharedStore, 'overdue' | 'scanSends'>>

/** Options of `openRecordStore`. */
export interface RecordStoreOptions {
  /** The argument of `Store.open`. */
  readonly host: StoreHost
  /** How long payloads of settled events are kept. Default 7 days. */
  readonly retentionDays?: number | undefined
  /** How long dead letters are kept. Default 30 days. */
  readonly deadLetterDays?: number | undefined
  /** How long duplicates are recognised, at least as long as payloads are kept. Default 30 days. */
  readonly dedupeDays?: number | undefined
}

/** A write may take effect this long after its response was lost. */
const WRITE_LASTS_MS = 60_000

/**
 * Builds the store that a receiver opens from operations that read, compare and write records. All decisions about events
 * (duplicates, order, leases, retries, dead letters, retention, erasure) are made here. Times are those of the process.
 */
export function openRecordStore(store: RecordStore, options: RecordStoreOptions): OpenStore {
  const { host, retentionDays = 7, deadLetterDays = 30, dedupeDays = 30 } = options
  const retention = retentionOf({ retentionDays, deadLetterDays, dedupeDays })
  const whole: SharedStore = {
    overdue: () => ({ keys: [], nextMs: undefined }),
    scanSends: () => ({ items: [], next: undefined }),
    ...store,
  }
  const runner = createSharedRunner({ store: whole, storeNowMs: undefined, writeLastsMs: WRITE_LASTS_MS })
  const { indexes } = runner
  const report = host.report ?? (() => {})
  // Distinguishes the leases of this process from those of others.
  const worker = String(randomInt(1, 2 ** 48 - 1))
  const verbs = createOpenStore({
    runner,
    indexes,
    retention,
    worker: () => worker,
    report,
  })
  const { expect, overdue, admitOverdue, awaitNoMore, expectations, sentTo, ...others } = verbs
  const sends = { expect, overdue, admitOverdue, awaitNoMore, expectations, sentTo }
  return {
    ...others,
    ...(store.overdue !== undefined && store.scanSends !== undefined && sends),
    async claim(request) {
      await runner.takeBackLost((key) => !request.exclude.has(key))
      return verbs.claim(request)
    },
  }
}

/** An event that is being admitted has no error yet. */
export function encodePayload({
  id,
  record,
  raw,
  error,
}: Omit<Payload, 'corrupt' | 'error'> & Partial<Payload>): string {
  return JSON.stringify({ id, record, raw: raw.toString('base64'), error })
}

/** Throws a `TypeError` if the text is not a payload. */
export function decodePayload(text: string): Payload {
  const parsed: unknown = JSON.parse(text)
  if (isRecord(parsed)) {
    const { id, record, raw, error } = parsed
    if (typeof id === 'string' && typeof raw === 'string' && isEventRecord(record))
      return { id, record, raw: Buffer.from(raw, 'base64'), error: typeof error === 'string' ? error : undefined }
  }
  throw new TypeError('Not a payload.')
}
