/** A store on your own engine: you read, compare and write records, and find them; the package decides everything about them. */
import { randomInt } from 'node:crypto'
import type { Awaitable, MessageStore, StoreCounts, StoreHost } from '../inbox/store.ts'
import { isEventRecord } from '../messages/event-record.ts'
import { retentionOf } from '../messages/retention.ts'
import type { Payload } from '../messages/views.ts'
import { isRecord } from '../runtime/values.ts'
import { createSharedRunner } from './compare-and-set.ts'
import type { DueLookup, EventPlace, Indexes, ScannedRecord, Versioned, VersionedChange } from './engine.ts'
import { createScan } from './lists.ts'
import { byNewest, scanned } from './pages.ts'
import { createTrustedTime } from './trusted-time.ts'

/** The operations of a store on your own engine. */
export interface RecordStore {
  /** The existing records of these keys. */
  read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned>>
  /**
   * Writes each change whose record still has the version `expected` (undefined: does not exist), with its payloads, whole or
   * not at all, durably. Answers for each whether it did. The record then has the version of the change.
   */
  write(changes: readonly VersionedChange[]): Promise<readonly boolean[]>
  /**
   * Keys of records that are due at `nowMs`, earliest first, and when the next will be: by `dueMark` (`of: 'events'`), by
   * `send.overdueAtMs` (`'sends'`), or all that may be past their retention (`'retention'`).
   */
  due(lookup: DueLookup): Promise<{ readonly keys: readonly string[]; readonly nextMs: number | undefined }>
  /** The stored payloads of these events, in the same order. */
  payloads(places: readonly EventPlace[]): Promise<readonly (Payload | undefined)[]>
  /** All records with their payloads, or those of one message, in any order. Lists are made from them. */
  records(key?: string): AsyncIterable<Omit<ScannedRecord, 'place'>>
  counts(): Awaitable<StoreCounts>
  close(): Awaitable<void>
}

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

/**
 * Builds the store that a receiver opens from operations that read, compare and write records. Times are those of the process.
 * Leases of a process that died end by time.
 */
export function openRecordStore(store: RecordStore, options: RecordStoreOptions): MessageStore {
  const { host, retentionDays = 7, deadLetterDays = 30, dedupeDays = 30 } = options
  const retention = retentionOf({ retentionDays, deadLetterDays, dedupeDays })
  const trusted = createTrustedTime(undefined, host.elapsedMs)
  const trustedMs = (): number => trusted.ofNow(host.nowMs())
  // Distinguishes the leases of this process from those of others.
  const worker = String(randomInt(1, 2 ** 48 - 1))
  const indexes = indexesOf(store)
  const runner = createSharedRunner({
    engine: { ...indexes, read: store.read, due: store.due, write: store.write, nowMs: host.nowMs },
    workerFor: () => worker,
    about: () => ({ trustedMs: trustedMs(), retention }),
  })
  return {
    run: runner.run,
    async due({ of, limit, exclude = NO_KEYS }) {
      const nowMs = of === 'retention' ? trustedMs() : host.nowMs()
      const { keys, nextMs } = await runner.due({ of, limit, exclude, nowMs })
      return { keys, nextInMs: nextMs === undefined ? undefined : Math.max(0, nextMs - nowMs) }
    },
    scan: createScan(indexes),
    counts: store.counts,
    close: store.close,
  }
}

const NO_KEYS: ReadonlySet<string> = new Set()

/** Makes every list by going through the records. An engine with indexes of its own would use those. */
function indexesOf(store: RecordStore): Indexes {
  async function all(key?: string): Promise<readonly Omit<ScannedRecord, 'place'>[]> {
    const found = []
    for await (const one of store.records(key)) found.push(one)
    return found
  }

  async function eventsOf(key?: string) {
    return (await all(key)).flatMap(({ key: of, record, payloads }) =>
      [...record.waiting, ...record.dead, ...record.settled].map((entry) => {
        const payload = payloads.find(({ id }) => id === entry.id)
        const atMs = payload?.record.receivedAtMs ?? ('endedAtMs' in entry ? entry.endedAtMs : entry.admittedAtMs)
        return { key: of, id: entry.id, atMs, record, payload, place: `${timeText(atMs)}/${entry.id}` }
      }),
    )
  }

  return {
    payloads: store.payloads,
    async payloadIds(keys) {
      const found = await Promise.all(keys.map(all))
      return found.map((records) => records.flatMap(({ payloads }) => payloads.map(({ id }) => id)))
    },
    unreadable: () => [],
    counts: store.counts,
    async scanEvents({ key, after, limit, isMeant }) {
      const events = (await eventsOf(key)).sort(byNewest)
      return scanned(
        events.filter((one) => (after === undefined || one.place < after) && isMeant(one)),
        limit,
      )
    },
    async scanDeadLetters({ after = '', limit, id }) {
      const events = await eventsOf()
      const letters = events.flatMap((one) => {
        const letter = one.record.dead.find((entry) => entry.id === one.id)
        return letter === undefined ? [] : [{ ...one, place: `${timeText(letter.diedAtMs)}/${one.id}` }]
      })
      const wanted = letters.filter((one) => one.place > after && (id === undefined || one.id === id))
      return scanned(wanted.sort(byPlace), limit)
    },
    async scanSends({ after, limit, fromMs, toMs, newestFirst }) {
      const sends = (await all()).flatMap((one) => {
        const sentAtMs = one.record.send?.sentAtMs
        if (sentAtMs === undefined || sentAtMs < fromMs || sentAtMs >= toMs) return []
        return [{ ...one, place: `${timeText(sentAtMs)}/${one.key}` }]
      })
      const ordered = newestFirst ? sends.sort(byPlace).reverse() : sends.sort(byPlace)
      const start =
        after === undefined ? 0 : ordered.findIndex(({ place }) => (newestFirst ? place < after : place > after))
      return scanned(start === -1 ? [] : ordered.slice(start), limit)
    },
    async scanRecords({ after = '', limit }) {
      const records = (await all()).map((one) => ({ ...one, place: one.key }))
      return scanned(records.filter(({ place }) => place > after).sort(byPlace), limit)
    },
  }
}

/** Times sort as texts. */
function timeText(ms: number): string {
  return String(Math.floor(ms)).padStart(16, '0')
}

function byPlace(a: { readonly place: string }, b: { readonly place: string }): number {
  return a.place < b.place ? -1 : 1
}

/** The text form of a payload. An event that is being admitted has no error yet. */
export function encodePayload({ id, record, raw, error }: Omit<Payload, 'error'> & Partial<Payload>): string {
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
