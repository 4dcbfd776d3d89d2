/** The user's database as the engine of a shared store: decodes what it returns, and encodes what is written. */
import type { StoreHost } from '../../inbox/store.ts'
import type { Payload } from '../../messages/views.ts'
import type { Indexes, SharedEngine, Versioned, VersionedChange } from '../engine.ts'
import { admittedIn } from '../stored.ts'
import { payloadIn, payloadText, recordIn, rowOf } from './encoding.ts'
import type { RecordChange, RecordStore, StoredRecord } from './record-store.ts'

type Scans = Pick<Indexes, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

export function createEngine(store: RecordStore, host: Scans & Pick<StoreHost, 'nowMs'>) {
  async function payloadsOf(keys: readonly string[]): Promise<ReadonlyMap<string, readonly Payload[]>> {
    const rows = await store.read(keys)
    return new Map(rows.map(({ key, payloads }) => [key, payloads.map(payloadIn)]))
  }

  /** The texts of payloads that a write changes. Those of new dead letters get the error. */
  async function changeOf(change: VersionedChange): Promise<RecordChange> {
    const { key, expected, version, after, payloads } = change
    const texts = new Map<string, string | undefined>()
    const known = new Map(
      admittedIn(change).map(({ event, admittedAtMs }) => [event.id, { ...event, admittedAtMs, error: undefined }]),
    )
    for (const [id, event] of known) texts.set(id, payloadText(event, event.admittedAtMs))
    const isDying = payloads.some(({ id, becomes }) => becomes === 'dead' && !known.has(id))
    const [stored] = isDying ? await store.read([key]) : []
    for (const one of payloads) {
      if (one.becomes === 'removed') texts.set(one.id, undefined)
      if (one.becomes !== 'dead') continue
      const row = stored?.payloads.find(({ id }) => id === one.id)
      const payload = known.get(one.id) ?? (row && payloadIn(row))
      // An unreadable payload stays as it is.
      if (payload === undefined || 'isUnreadable' in payload) continue
      texts.set(one.id, payloadText({ ...payload, error: one.error }, payload.admittedAtMs))
    }
    return {
      key,
      expected,
      row: after === null ? undefined : rowOf(after, version),
      payloads: [...texts].map(([id, text]) => ({ id, text })),
    }
  }

  return {
    ...host,
    async read(keys) {
      const rows = await store.read(keys)
      return new Map(rows.map((row) => [row.key, versionedIn(row)]))
    },
    async write(changes) {
      return store.write(await Promise.all(changes.map(changeOf)))
    },
    async due({ of, limit, nowMs, exclude }) {
      const by = of === 'sends' ? 'overdueMs' : 'dueMs'
      const { keys, nextMs } = await store.due({ by, limit, nowMs, exclude })
      const found = new Map<string, Versioned>()
      const payloads = new Map<string, Payload>()
      for (const row of keys.length === 0 ? [] : await store.read(keys)) {
        const versioned = versionedIn(row)
        found.set(row.key, versioned)
        const first = row.payloads.find(({ id }) => id === versioned.record.waiting[0]?.id)
        if (first !== undefined) payloads.set(row.key, payloadIn(first))
      }
      return { keys: keys.filter((key) => found.has(key)), nextMs, found, payloads }
    },
    async payloads(places) {
      const found = await payloadsOf([...new Set(places.map(({ key }) => key))])
      return places.map(({ key, id }) => found.get(key)?.find((one) => one.id === id))
    },
    async payloadIds(keys) {
      const found = await payloadsOf(keys)
      return keys.map((key) => found.get(key)?.map(({ id }) => id) ?? [])
    },
    counts: () => store.counts(),
    close: () => store.close(),
  } satisfies SharedEngine & Pick<RecordStore, 'close'>
}

function versionedIn(row: StoredRecord): Versioned {
  return { version: row.version, record: recordIn(row) }
}
