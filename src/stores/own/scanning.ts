/** Lists and retention of a store on the user's database, made by walks through its records. */
import type { Retention } from '../../messages/commands.ts'
import { decide } from '../../messages/decide.ts'
import type { Indexes, ScannedEvent, ScannedRecord } from '../engine.ts'
import { byNewest, isAfter, placeIn, scanned, writtenPlace } from '../pages.ts'
import { eventsOf, type StoredPayload } from '../stored.ts'
import { payloadIn, recordIn } from './encoding.ts'
import type { RecordStore, StoredRecord } from './record-store.ts'

/** Records that a walk reads at once. */
const STEP = 200

interface WalkedRecord extends ScannedRecord {
  readonly payloads: readonly StoredPayload[]
}

export function createWalks(store: RecordStore) {
  async function* walk(withDeadLetters = false): AsyncGenerator<WalkedRecord> {
    for (let after: string | undefined = ''; after !== undefined;) {
      const rows: readonly StoredRecord[] = await store.records({ after, limit: STEP, withDeadLetters })
      yield* rows.map(walked)
      after = rows.length < STEP ? undefined : rows.at(-1)?.key
    }
  }

  /** Where the next pass over what is too old goes on. */
  let prunedUpTo = ''
  return {
    /** Keys among the next `limit` records that have something past its retention. Later calls continue behind them. */
    async expired(retention: Retention, nowMs: number, limit: number): Promise<readonly string[]> {
      const rows = await store.records({ after: prunedUpTo, limit, withDeadLetters: false })
      prunedUpTo = rows.length < limit ? '' : (rows.at(-1)?.key ?? '')
      const about = { nowMs, trustedMs: nowMs, worker: undefined, retention, isFull: false, payload: undefined }
      const old = rows.map(walked).filter(({ key, record, payloads }) => {
        const kept = payloads.map(({ id }) => id)
        return decide(record, { do: 'expire', key }, { ...about, kept }).answer !== 'kept'
      })
      return old.map(({ key }) => key)
    },
    async scanEvents(request) {
      const { key, id, after, limit, isWanted } = request
      if (key !== undefined) {
        const [row] = await store.read([key])
        return row === undefined ? { items: [] } : eventsOf(walked(row), request)
      }
      const place = placeIn(after)
      const found = await firstOf(limit + 1, byNewest, async function* () {
        for await (const { key: of, record, payloads } of walk())
          for (const payload of payloads) {
            const listed = { id: payload.id, atMs: payload.admittedAtMs }
            const event: ScannedEvent = { ...listed, key: of, record, payload, place: writtenPlace(listed) }
            if (isAfter(place, listed) && (id === undefined || id === payload.id) && isWanted(event)) yield event
          }
      })
      return scanned(found, limit)
    },
    async scanDeadLetters({ after = '', limit, id }) {
      const found = await firstOf(limit + 1, byPlace, async function* () {
        for await (const { key, record, payloads } of walk(true))
          for (const { id: letter, diedAtMs } of record.dead) {
            const place = `${timeText(diedAtMs)}/${letter}`
            const payload = payloads.find((one) => one.id === letter)
            const atMs = payload?.admittedAtMs ?? diedAtMs
            if (place > after && (id === undefined || id === letter))
              yield { key, id: letter, atMs, record, payload, place }
          }
      })
      return scanned(found, limit)
    },
    async scanSends({ after, limit, fromMs, toMs, newestFirst }) {
      const order = (a: ScannedRecord, b: ScannedRecord): number => (newestFirst ? byPlace(b, a) : byPlace(a, b))
      const found = await firstOf(limit + 1, order, async function* () {
        for await (const one of walk()) {
          const sentAtMs = one.record.send?.sentAtMs
          if (sentAtMs === undefined || sentAtMs < fromMs || sentAtMs >= toMs) continue
          const place = `${timeText(sentAtMs)}/${one.key}`
          if (after === undefined || (newestFirst ? place < after : place > after)) yield { ...one, place }
        }
      })
      return scanned(found, limit)
    },
    async scanRecords({ after = '', limit }) {
      const rows = await store.records({ after, limit: limit + 1, withDeadLetters: false })
      const { next } = scanned(
        rows.map(({ key: place }) => ({ place })),
        limit,
      )
      return { items: rows.slice(0, limit).map(walked), next }
    },
  } satisfies Partial<Indexes> & Readonly<Record<string, unknown>>
}

function walked(row: StoredRecord): WalkedRecord {
  return { key: row.key, place: row.key, record: recordIn(row), payloads: row.payloads.map(payloadIn) }
}

/** The first items in this order. Keeps few of them at a time. */
async function firstOf<T>(
  count: number,
  order: (a: T, b: T) => number,
  items: () => AsyncIterable<T>,
): Promise<readonly T[]> {
  let first: T[] = []
  for await (const item of items()) {
    first.push(item)
    if (first.length >= 2 * count) first = first.sort(order).slice(0, count)
  }
  return first.sort(order).slice(0, count)
}

/** Times sort as texts. */
function timeText(ms: number): string {
  return String(Math.floor(ms)).padStart(16, '0')
}

function byPlace(a: { readonly place: string }, b: { readonly place: string }): number {
  return a.place < b.place ? -1 : 1
}
