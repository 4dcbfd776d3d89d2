/** Builds a store from the operations of the user's database. */
import { randomInt } from 'node:crypto'
import type { MessageStore, StoreHost } from '../../inbox/store.ts'
import { retentionOf } from '../../messages/retention.ts'
import { checkOptions, type Given } from '../../runtime/check-options.ts'
import { catchUp } from '../catch-up.ts'
import { createSharedRunner } from '../compare-and-set.ts'
import type { DueLookup } from '../engine.ts'
import { createScan } from '../lists.ts'
import { retentionSchema, type RETENTION_OPTIONS } from '../retention-options.ts'
import { createTrustedTime } from '../trusted-time.ts'
import { createEngine } from './engine.ts'
import type { RecordStore } from './record-store.ts'
import { createWalks } from './scanning.ts'

/** Options of `openRecordStore`. */
export interface RecordStoreOptions extends Given<typeof RETENTION_OPTIONS> {
  /** The argument of `Store.open`. */
  readonly host: StoreHost
}

/** Other processes do not notify this one of what they admit, so it looks this often. */
const LOOK_EVERY_MS = 1_000

/** Later than any clock has been: the database does not tell how far a clock was ahead before it was set back. */
const LATEST_MS = Date.UTC(9999, 0)

const NO_KEYS: ReadonlySet<string> = new Set()

/**
 * Builds the store that a receiver opens from operations that read, compare and write records. Any number of processes may share
 * the database. Times are those of the process. Leases of a process that died end by time. Throws an `OptionsError` for an
 * invalid option.
 */
export function openRecordStore(store: RecordStore, options: RecordStoreOptions): MessageStore {
  const { host, ...given } = options
  const retention = retentionOf(checkOptions(retentionSchema, given, 'openRecordStore'))
  const trusted = createTrustedTime(host.wallMs(), host.elapsedMs)
  const lasting = createTrustedTime(undefined, host.elapsedMs)
  // Distinguishes the leases of this process from those of others.
  const worker = String(randomInt(1, 2 ** 48 - 1))
  const walks = createWalks(store)
  const engine = createEngine(store, { ...walks, nowMs: host.nowMs })
  const runner = createSharedRunner({
    engine,
    workerFor: () => worker,
    about: () => ({ trustedMs: trusted.ofNow(host.wallMs()), retention }),
  })
  let hasCaughtUp = false

  /** Catches up as soon as little else is due, because the walk passes everything that is. */
  async function due(lookup: DueLookup) {
    const found = await runner.due(lookup)
    if (hasCaughtUp || lookup.of !== 'events' || found.keys.length >= lookup.limit) return found
    const dueBy = async (nowMs: number, limit: number, exclude: ReadonlySet<string>) =>
      (await runner.due({ of: 'events', limit, exclude, nowMs })).keys
    await catchUp({ dueBy, run: runner.run }, LATEST_MS)
    hasCaughtUp = true
    // The caller looks again at once. The database may hide for a while what it has returned, so not here.
    return { ...found, nextMs: lookup.nowMs }
  }

  return {
    run: runner.run,
    async due({ of, limit, exclude = NO_KEYS }) {
      const nowMs = of === 'sends' ? lasting.ofNow(host.nowMs()) : host.nowMs()
      if (of === 'retention')
        return { keys: await walks.expired(retention, trusted.ofNow(host.wallMs()), limit), nextInMs: undefined }
      const { keys, nextMs } = await due({ of, limit, exclude, nowMs })
      const lookMs = of === 'events' ? nowMs + LOOK_EVERY_MS : undefined
      const soonestMs = Math.min(nextMs ?? Infinity, lookMs ?? Infinity)
      return { keys, nextInMs: soonestMs === Infinity ? undefined : Math.max(0, soonestMs - nowMs) }
    },
    scan: createScan(engine),
    counts: engine.counts,
    close: engine.close,
  }
}
