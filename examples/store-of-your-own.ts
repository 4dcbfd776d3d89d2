/**
 * A store on any database that keeps texts under keys and can write some of them if one has not changed meanwhile. What is decided
 * about events, the package decides; this reads, compares, writes, and keeps a few indexes. The database here is a `Map`: put yours
 * in its place. Left out: what was sent (`overdue`, `scanSends`), and that others take over at once from a process that died
 * (leases end by their time).
 */
import { createReceiver } from 'messaging-webhooks'
import {
  decodePayload,
  decodeRecord,
  dueMark,
  encodePayload,
  encodeRecord,
  openRecordStore,
  unreadableRecord,
  type EventScan,
  type MessageRecord,
  type Payload,
  type RecordStore,
  type Scanned,
  type ScannedEvent,
  type Store,
  type Versioned,
  type VersionedChange,
} from 'messaging-webhooks/store'
import { callback } from 'messaging-webhooks/testing'

/** What is asked of the database. */
export interface KeyValues {
  get(key: string): Promise<string | undefined>
  /** The keys that begin so, in order. */
  keys(prefix: string): Promise<readonly string[]>
  /** Writes all of them or nothing: undefined removes. Answers false, and writes nothing, if `key` has another value than `expected`. */
  writeIf(key: string, expected: string | undefined, values: ReadonlyMap<string, string | undefined>): Promise<boolean>
}

export function inMap(): KeyValues {
  const texts = new Map<string, string>()
  return {
    get: async (key) => texts.get(key),
    keys: async (prefix) => [...texts.keys()].filter((key) => key.startsWith(prefix)).sort(),
    async writeIf(key, expected, values) {
      if (texts.get(key) !== expected) return false
      for (const [each, value] of values)
        if (value === undefined) texts.delete(each)
        else texts.set(each, value)
      return true
    },
  }
}

/** Takes the callbacks of one receiver or many. */
export function keyValueStore(database: KeyValues): Store {
  return {
    capabilities: {
      name: 'key-value',
      durable: false,
      shared: false,
    },
    open: (host) => openRecordStore(operations(database), { host }),
  }
}

/** `r` has the records, `p` the payloads; the others are indexes, whose keys end with that of a record. */
const recordKey = (key: string): string => `r/${key}`
const payloadKey = (key: string, id: string): string => `p/${key}/${id}`
const deadKey = (id: string): string => `i/${id}`
const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1)
/** Times sort as texts. */
const timeText = (ms: number): string => String(ms).padStart(16, '0')

function operations(database: KeyValues): RecordStore {
  async function read(key: string): Promise<(Versioned & { readonly text: string }) | undefined> {
    const text = await database.get(recordKey(key))
    if (text === undefined) return undefined
    const end = text.indexOf(' ')
    const record = decodeRecord(text.slice(end + 1)) ?? unreadableRecord(key)
    return { text, version: Number(text.slice(0, end)), record }
  }

  async function payload(key: string, id: string): Promise<Payload | undefined> {
    const text = await database.get(payloadKey(key, id))
    return text === undefined ? undefined : decodePayload(text)
  }

  async function payloadsOf(key: string): Promise<readonly string[]> {
    return (await database.keys(`p/${key}/`)).map(lastPart)
  }

  async function write(change: VersionedChange): Promise<number | undefined> {
    const { key, expected, before, after } = change
    const stored = await read(key)
    if (stored?.version !== expected) return undefined
    const version = after === undefined ? 0 : (expected ?? Math.floor(Math.random() * 2 ** 40)) + 1
    const values = new Map<string, string | undefined>()
    values.set(recordKey(key), after && `${version} ${encodeRecord(after)}`)
    for (const index of indexKeys(key, before)) values.set(index, undefined)
    for (const index of indexKeys(key, after)) values.set(index, '')
    for (const event of change.admitted) values.set(payloadKey(key, event.id), encodePayload(event))
    for (const one of change.payloads) {
      if (one.becomes === 'removed') values.set(payloadKey(key, one.id), undefined)
      if (one.becomes !== 'dead') continue
      // An event may be admitted as a dead letter.
      const dead = change.admitted.find(({ id }) => id === one.id) ?? (await payload(key, one.id))
      if (dead !== undefined) values.set(payloadKey(key, one.id), encodePayload({ ...dead, error: one.error }))
    }
    for (const { id } of before?.dead ?? []) values.set(deadKey(id), undefined)
    for (const { id } of after?.dead ?? []) values.set(deadKey(id), key)
    if (after === undefined) for (const id of await payloadsOf(key)) values.set(payloadKey(key, id), undefined)
    return (await database.writeIf(recordKey(key), stored?.text, values)) ? version : undefined
  }

  /** All events of these records, the newest first. */
  async function eventsOf(keys: readonly string[]): Promise<readonly ScannedEvent[]> {
    const events: ScannedEvent[] = []
    for (const key of keys) {
      const stored = await read(key)
      if (stored === undefined) continue
      const { record } = stored
      for (const one of [...record.waiting, ...record.dead, ...record.settled]) {
        const kept = await payload(key, one.id)
        const atMs = kept?.record.receivedAtMs ?? ('endedAtMs' in one ? one.endedAtMs : one.admittedAtMs)
        events.push({ key, id: one.id, atMs, place: `${timeText(atMs)}/${one.id}`, record, payload: kept })
      }
    }
    return events.sort((a, b) => (a.place < b.place ? 1 : -1))
  }

  const allKeys = async (): Promise<readonly string[]> => (await database.keys('r/')).map(lastPart)

  return {
    async read(keys) {
      const found = await Promise.all(keys.map(async (key) => ({ key, stored: await read(key) })))
      return new Map(found.flatMap(({ key, stored }) => (stored === undefined ? [] : [[key, stored]])))
    },
    write: async (changes) => Promise.all(changes.map(write)),
    async due({ limit, nowMs, exclude }) {
      const keys: string[] = []
      let nextDueMs: number | undefined
      for (const index of await database.keys('d/')) {
        const key = lastPart(index)
        if (exclude.has(key)) continue
        const atMs = Number(index.split('/')[1])
        if (atMs <= nowMs && keys.length < limit) keys.push(key)
        else {
          nextDueMs = atMs
          break
        }
      }
      // A database that many share would keep these from the others for some seconds, so that they do not contend.
      return { keys, nextDueMs, found: new Map() }
    },
    payloads: async (places) => Promise.all(places.map(async ({ key, id }) => payload(key, id))),
    payloadsOf: async (keys) => Promise.all(keys.map(payloadsOf)),
    keyOfDeadLetter: async (id) => database.get(deadKey(id)),
    async scanEvents({ key, after, limit, isMeant }: EventScan) {
      const events = await eventsOf(key === undefined ? await allKeys() : [key])
      const wanted = events.filter((event) => (after === undefined || event.place < after) && isMeant(event))
      const listed = key === undefined ? wanted.filter(({ payload: kept }) => kept !== undefined) : wanted
      return pageOf(listed, limit)
    },
    async scanDeadLetters({ after = '', limit }) {
      const places = (await database.keys('l/')).filter((index) => index > after).slice(0, limit + 1)
      const found: ScannedEvent[] = []
      for (const place of places) {
        const [, , id = '', key = ''] = place.split('/')
        const stored = await read(key)
        const kept = await payload(key, id)
        if (stored !== undefined) found.push({ key, id, atMs: 0, place, record: stored.record, payload: kept })
      }
      return pageOf(found, limit)
    },
    async scanRecords({ after = '', limit }) {
      const keys = (await allKeys()).filter((key) => key > after).slice(0, limit + 1)
      const records = await Promise.all(
        keys.map(async (key) => {
          const kept = await Promise.all((await payloadsOf(key)).map(async (id) => payload(key, id)))
          return { key, stored: await read(key), payloads: kept.filter((one) => one !== undefined) }
        }),
      )
      const found = records.flatMap(({ key, stored, payloads }) =>
        stored === undefined ? [] : [{ key, place: key, record: stored.record, payloads }],
      )
      return pageOf(found, limit)
    },
    // What is too old, the package decides: a large database would keep an index of the days.
    aged: async () => allKeys(),
    async counts() {
      const records = await Promise.all((await database.keys('d/')).map(async (index) => read(lastPart(index))))
      const unsettled = records.reduce((sum, stored) => sum + (stored?.record.waiting.length ?? 0), 0)
      return { unsettled, deadLetters: (await database.keys('i/')).length }
    },
    async close() {},
  }
}

/** When it is due, and which dead letters it has. */
function indexKeys(key: string, record: MessageRecord | undefined): readonly string[] {
  if (record === undefined) return []
  const dueMs = dueMark(record)
  return [
    ...(dueMs === undefined ? [] : [`d/${timeText(dueMs)}/${key}`]),
    ...record.dead.map(({ id, diedAtMs }) => `l/${timeText(diedAtMs)}/${id}/${key}`),
  ]
}

function pageOf<T extends { readonly place: string }>(found: readonly T[], limit: number): Scanned<T> {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? items.at(-1)?.place : undefined }
}

if (process.argv[1] === import.meta.filename) {
  const receiver = createReceiver({
    store: keyValueStore(inMap()),
    credentials: { authKey: 'key-of-the-example', signingSecret: 'secret-of-the-example' },
    spool: false,
    logger: false,
  })
  receiver.on('message.*', ({ type, messageId }) => console.log(`${type}: ${messageId}`))
  await receiver.start()
  const body = Buffer.from(JSON.stringify(callback.smsDelivery({ authKey: 'key-of-the-example', messageId: 'sms-1' })))
  for (const time of ['first', 'second']) {
    const { status } = await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
    await receiver.drain()
    console.log(`${time} time: ${status}`)
  }
  const { accepted, duplicates, unsettled } = await receiver.stats()
  console.log({ accepted, duplicates, unsettled })
  await receiver.close()
}
