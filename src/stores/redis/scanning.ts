/**
 * Lists for observers. An index has the newest events of each partition; one of all events would hold millions. A scan of older
 * or filtered events walks through all payloads in short steps and keeps the newest.
 */
import { isFiltered, isInTime, MAX_EXAMINED } from '../../inbox/lists.ts'
import type { EventPlace, EventScan, Indexes, ScannedEvent, ScannedRecord } from '../engine.ts'
import type { Page } from '../../inbox/store.ts'
import { newestOf, scanned, scannedRows, writtenPlace } from '../pages.ts'
import { storedPayload } from '../stored.ts'
import { ask, type Engine } from './engine.ts'
import type { Finding } from './finding.ts'
import type { Records } from './records.ts'
import { scored } from './replies.ts'
import { OLDEST_FIRST, pageOfSet, placeOf } from './sets.ts'
import { deadLetter, payloadsAt, stepFrom, walk, type Walked } from './payloads.ts'
import { idsIn, payloadKey, RECENT, recentPlace, recordKey } from './writing.ts'

type Scans = Pick<Indexes, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

const READ_AT_ONCE = 200
const LAST_RECENT = String(RECENT - 1)

export function createScans(engine: Engine, { look }: Records, { findLetter }: Pick<Finding, 'findLetter'>): Scans {
  const { partitions } = engine

  /** Events with their payloads, if these are stored, and with the errors of dead letters. */
  async function eventsAt(places: readonly EventPlace[]): Promise<readonly ScannedEvent[]> {
    const [found, payloads] = await Promise.all([look(places.map(({ key }) => key)), payloadsAt(engine, places)])
    const events = await Promise.all(
      places.map(async ({ key, id }, at): Promise<ScannedEvent | undefined> => {
        const record = found.get(key)
        if (record === undefined) return undefined
        const stored = payloads[at]
        const dead = record.dead.find((entry) => entry.id === id)
        const settled = record.settled.find((entry) => entry.id === id)
        const atMs = stored?.admittedAtMs ?? settled?.endedAtMs ?? dead?.diedAtMs ?? 0
        const event = { key, id, atMs, place: writtenPlace({ id, atMs }), record }
        if (dead === undefined) return { ...event, payload: stored }
        const error = (await deadLetter(engine, partitions.of(key), id))?.error
        // List a dead letter without a payload too, so that it can be discarded.
        const nothing = { id, admittedAtMs: atMs, record: undefined, raw: undefined, error }
        return { ...event, payload: stored === undefined ? storedPayload(nothing) : { ...stored, error } }
      }),
    )
    return events.flatMap((event) => event ?? [])
  }

  /** The newest payloads before a place, without duplicates: a walk may visit a key twice. */
  async function newestOfAll({ after, id, filter }: EventScan, most: number): Promise<readonly Walked[]> {
    let newest: readonly Walked[] = []
    for await (const step of walk(engine, payloadKey('*', id ?? '*'))) {
      const gathered = [...newest, ...step.filter(({ atMs }) => isInTime(filter, atMs))]
      newest = gathered.length > 4 * most ? newestOf(gathered, after, most) : gathered
    }
    return newestOf(newest, after, most)
  }

  /** A page from the index of the newest events. Undefined if the index does not reach so far. */
  async function scanRecent({ after, limit, filter, isMeant, id }: EventScan) {
    if (isFiltered(filter) || id !== undefined) return undefined
    const [members, oldest] = await Promise.all([
      pageOfSet(engine, 'recent', { after, limit, newestFirst: true, fromMs: -Infinity, toMs: Infinity }),
      Promise.all(
        partitions.all.map((one) => ask(engine, one, ['ZREVRANGE', 'recent', LAST_RECENT, LAST_RECENT, 'WITHSCORES'])),
      ),
    ])
    // A partition with fewer members than it keeps has lost none.
    const fromMs = Math.max(...oldest.map((one) => scored(one)[0]?.score ?? -Infinity))
    if (members.length <= limit || (members.at(-1)?.score ?? -Infinity) <= fromMs) return undefined
    const events = await eventsAt(members.map(({ member }) => recentPlace(member)))
    const found = events.filter((event) => event.payload !== undefined && isMeant(event))
    return found.length > limit ? scanned(found, limit) : undefined
  }

  async function scanAll(scan: EventScan): Promise<Page<ScannedEvent>> {
    const { limit, isMeant } = scan
    const most = isFiltered(scan.filter) ? MAX_EXAMINED : limit
    const all = await newestOfAll(scan, most)
    const places = all.slice(0, most)
    const found: ScannedEvent[] = []
    for (let from = 0; from < places.length; from += READ_AT_ONCE) {
      const events = await eventsAt(places.slice(from, from + READ_AT_ONCE))
      found.push(...events.filter((event) => event.payload !== undefined && isMeant(event)))
      if (found.length > limit) return scanned(found, limit)
    }
    const end = all.length > most ? places.at(-1) : undefined
    if (end === undefined) return scanned(found, limit)
    return { items: found, next: writtenPlace(end), ...(most > limit && { lookedBackToMs: end.atMs }) }
  }

  /** All events of a message, including settled ones without a payload. */
  async function scanMessage(key: string, { after, limit, isMeant }: EventScan): Promise<Page<ScannedEvent>> {
    const found = await look([key])
    const places = [...found].flatMap(([each, record]) => idsIn(record).map((id) => ({ key: each, id })))
    const events = newestOf(await eventsAt(places), after, places.length)
    return scanned(events.filter(isMeant), limit)
  }

  return {
    async scanEvents(scan) {
      if (scan.key !== undefined) return scanMessage(scan.key, scan)
      return (await scanRecent(scan)) ?? scanAll(scan)
    },
    async scanDeadLetters({ id: only, ...page }) {
      if (only !== undefined) {
        const key = await findLetter(only)
        return { items: key === undefined ? [] : await eventsAt([{ key, id: only }]) }
      }
      const letters = await pageOfSet(engine, 'dead', { ...OLDEST_FIRST, ...page })
      const places = await Promise.all(
        letters.slice(0, page.limit).map(async ({ partition, member: id }) => {
          return { id, key: (await deadLetter(engine, partition, id))?.key ?? '' }
        }),
      )
      const events = new Map((await eventsAt(places)).map((event) => [event.id, event]))
      return scannedRows(letters, page.limit, placeOf, ({ member }, place): ScannedEvent | undefined => {
        const event = events.get(member)
        return event && { ...event, place }
      })
    },
    async scanSends(range) {
      const members = await pageOfSet(engine, 'sent', range)
      const found = await look(members.map(({ member }) => member))
      return scannedRows(members, range.limit, placeOf, ({ member: key }, place): ScannedRecord | undefined => {
        const record = found.get(key)
        return record && { key, place, record, payloads: [] }
      })
    },
    /** Returns one step of a walk, whatever the `limit`: Redis visits a number of keys per step. */
    async scanRecords({ after }) {
      const [, index = '0', from = '0'] = /^(\d{1,6}) (\d{1,20})$/.exec(after ?? '') ?? []
      const partition = partitions.all[Number(index)]
      if (partition === undefined) return { items: [], next: undefined }
      const { cursor, found } = await stepFrom(engine, partition, from, recordKey('*'))
      const items = await Promise.all(
        [...(await look(found.map(({ key }) => key)))].map(async ([key, record]): Promise<ScannedRecord> => {
          const places = idsIn(record).map((id) => ({ key, id }))
          const payloads = (await payloadsAt(engine, places)).flatMap((payload) => payload ?? [])
          return { key, place: '', record, payloads }
        }),
      )
      if (cursor !== '') return { items, next: `${index} ${cursor}` }
      return { items, next: Number(index) + 1 < partitions.all.length ? `${Number(index) + 1} 0` : undefined }
    },
  }
}
