/**
 * The memory store: for tests, and for single processes that may lose events in a crash. Bounded: it evicts settled messages
 * only, and no longer recognises duplicates of those.
 */
import { z } from 'zod'
import { checkOptions, numberAboveZero, type Given } from '../../runtime/check-options.ts'
import type { MessageStore, Store, StoreHost } from '../../inbox/store.ts'
import type { LocalEngine } from '../engine.ts'
import { createScan } from '../lists.ts'
import { runLocally } from '../local.ts'
import { RETENTION_OPTIONS } from '../retention-options.ts'
import { createTrustedTime } from '../trusted-time.ts'
import { endedAtMsIn } from '../codec.ts'
import { createRecords, createTables, dueKeys, payloadOf, type MemoryTables } from './records.ts'
import { scanDeadLetters, scanEvents, scanRecords, scanSends } from './scanning.ts'

const DAY_MS = 86_400_000

export const memoryBounds = {
  /** Maximum number of unsettled events, and of settled events that are remembered. Default 100,000. */
  maxEvents: numberAboveZero(Infinity).default(100_000),
  /** Maximum number of bytes of unsettled bodies. Default 256 MiB. */
  maxBytes: numberAboveZero(Infinity, 'bytes').default(256 * 1024 * 1024),
  /** Maximum number of dead letters. The oldest is discarded first. Default 1,000. */
  maxDeadLetters: numberAboveZero(Infinity).default(1_000),
  /** How long a settled event is remembered as seen. Default 30 days. */
  dedupeDays: RETENTION_OPTIONS.dedupeDays,
  /** Maximum number of messages recorded by `receiver.sends.expect`. Default 1,000,000. */
  maxExpected: numberAboveZero(Infinity).default(1_000_000),
}
const boundsSchema = z.strictObject(memoryBounds)

/** The bounds of a memory store. */
export interface MemoryStoreOptions extends Given<typeof memoryBounds> {}

/**
 * A store in the memory of this process: a crash loses events that were answered 204. See `MemoryStoreOptions` for its bounds. When it is full of
 * unsettled events, callbacks are answered 503 and reported. Throws an `OptionsError` for an unknown bound, or one that is not
 * a positive number.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const bounds = checkOptions(boundsSchema, options, 'memoryStore')
  return {
    capabilities: { name: 'memory', durable: false, shared: false },
    open: (host) => openMemoryStore(bounds, host),
  }
}

function openMemoryStore(bounds: z.output<typeof boundsSchema>, host: StoreHost): MessageStore {
  const dedupeMs = bounds.dedupeDays * DAY_MS
  const retention = { payloadMs: Infinity, deadLetterMs: Infinity, dedupeMs }
  const trusted = createTrustedTime(undefined, host.elapsedMs)
  /** For sends, whose times are by the clock that never goes back. */
  const lasting = createTrustedTime(undefined, host.elapsedMs)
  const tables = createTables(bounds.maxEvents, host.onWork)
  const engine: LocalEngine = {
    ...createRecords(tables, bounds),
    payloads: (places) => places.map(({ key, id }) => payloadOf(tables, key, id)),
    // This process wrote all of it.
    payloadIds: (keys) => keys.map((key) => tables.active.members.get(key)?.payloads.map(({ id }) => id) ?? []),
    scanEvents: (request) => scanEvents(tables, request),
    scanDeadLetters: (request) => scanDeadLetters(tables, request),
    scanSends: (request) => scanSends(tables, request),
    scanRecords: (request) => scanRecords(tables, request),
  }

  function discardOldest(about: Parameters<typeof runLocally>[2]): void {
    for (const [id, { key }] of tables.dead) {
      if (tables.dead.size <= bounds.maxDeadLetters) return
      runLocally(engine, [{ do: 'resolve', key, id, as: 'discard' }], about)
    }
  }

  return {
    run(commands) {
      const nowMs = host.nowMs()
      const about = { nowMs, trustedMs: trusted.ofNow(host.wallMs()), worker: '', retention }
      const answers = runLocally(engine, commands, about)
      discardOldest(about)
      return answers
    },
    due({ of, limit, exclude = NO_KEYS }) {
      if (of === 'retention')
        return { keys: agedKeys(tables, trusted.ofNow(host.wallMs()) - dedupeMs, limit), nextInMs: undefined }
      const nowMs = of === 'events' ? host.nowMs() : lasting.ofNow(host.nowMs())
      const lookup = { of, limit, exclude, nowMs }
      const { keys, nextMs } = of === 'events' ? dueKeys(tables, lookup) : tables.sends.overdue(nowMs, limit)
      return { keys, nextInMs: nextMs && Math.max(0, nextMs - nowMs) }
    },
    scan: createScan(engine),
    counts: engine.counts,
    close() {},
  }
}

const NO_KEYS: ReadonlySet<string> = new Set()

/** Keys of old records, oldest first. */
function agedKeys({ settled, sends }: MemoryTables, beforeMs: number, limit: number): readonly string[] {
  const keys: string[] = []
  for (const key of settled.rkeys()) {
    const encoded = settled.peek(key)
    if (keys.length >= limit || encoded === undefined || endedAtMsIn(encoded) >= beforeMs) break
    keys.push(key)
  }
  for (const { key } of sends.between(-Infinity, beforeMs)) {
    if (keys.length >= limit) break
    if (sends.byKey.get(key)?.overdueAtMs === undefined) keys.push(key)
  }
  return keys
}
