/** Lists for observers, from the indexes of each partition. Filtered events are found by reading all of their time. */
import { isFiltered, MAX_EXAMINED } from '../../inbox/lists.ts'
import type { EventPlace, EventScan, Indexes, ScannedEvent, ScannedRecord } from '../engine.ts'
import type { Page } from '../../inbox/store.ts'
import { newestOf, scanned, scannedRows, writtenPlace } from '../pages.ts'
import { storedPayload } from '../stored.ts'
import type { Engine } from './engine.ts'
import type { Finding } from './finding.ts'
import type { Records } from './records.ts'
import { OLDEST_FIRST, pageOfSet, placeOf } from './sets.ts'
import { deadLetter, payloadsAt, placesLike } from './payloads.ts'
import { eventPlace, idsIn } from './writing.ts'

type Scans = Pick<Indexes, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

const READ_AT_ONCE = 200

export function createScans(engine: Engine, { look }: Records, { findLetter }: Pick<Finding, 'findLetter'>): Scans {
  const { partitions } = engine

  /** Events with their payloads, if these are stored, and with the errors of dead letters. `place`: in the list that is read. */
  async function eventsAt(
    places: readonly (EventPlace & { readonly place?: string })[],
  ): Promise<readonly ScannedEvent[]> {
    const [found, payloads] = await Promise.all([look(places.map(({ key }) => key)), payloadsAt(engine, places)])
    const events = await Promise.all(
      places.map(async ({ key, id, place }, at): Promise<ScannedEvent | undefined> => {
        const record = found.get(key)
        if (record === undefined) return undefined
        const stored = payloads[at]
        const dead = record.dead.find((entry) => entry.id === id)
        const settled = record.settled.find((entry) => entry.id === id)
        const atMs = stored?.admittedAtMs ?? settled?.endedAtMs ?? dead?.diedAtMs ?? 0
        const event = { key, id, atMs, place: place ?? writtenPlace({ id, atMs }), record }
        if (dead === undefined) return { ...event, payload: stored }
        const error = (await deadLetter(engine, partitions.of(key), id))?.error
        // List a dead letter without a payload too, so that it can be discarded.
        const nothing = { id, admittedAtMs: atMs, record: undefined, raw: undefined, error }
        return { ...event, payload: stored === undefined ? storedPayload(nothing) : { ...stored, error } }
      }),
    )
    return events.flatMap((event) => event ?? [])
  }

  /** Events of the index, newest first. */
  async function scanIndex({ after, limit, filter, isWanted }: EventScan): Promise<Page<ScannedEvent>> {
    const { fromMs = -Infinity, toMs = Infinity } = filter
    const step = isFiltered(filter) ? READ_AT_ONCE : limit + 1
    const found: ScannedEvent[] = []
    let from = after
    for (let examined = 0; examined < MAX_EXAMINED; examined += step) {
      const members = await pageOfSet(engine, 'events', { after: from, limit: step, newestFirst: true, fromMs, toMs })
      const read = members.slice(0, step)
      const events = await eventsAt(read.map((one) => ({ ...eventPlace(one.member), place: placeOf(one) })))
      found.push(...events.filter((event) => event.payload !== undefined && isWanted(event)))
      const last = read.at(-1)
      if (found.length > limit || last === undefined || members.length <= step) return scanned(found, limit)
      from = placeOf(last)
    }
    return { items: found, next: from, lookedBackToMs: Number.parseInt(from ?? '', 10) }
  }

  /** Events with this id, of any message. */
  async function scanId(id: string, { after, limit, isWanted }: EventScan): Promise<Page<ScannedEvent>> {
    const places = (await placesLike(engine, `${id}:*`)).filter((place) => place.id === id)
    const events = newestOf(await eventsAt(places), after, places.length)
    return scanned(events.filter(isWanted), limit)
  }

  /** All events of a message, including settled ones without a payload. */
  async function scanMessage(key: string, { after, limit, isWanted }: EventScan): Promise<Page<ScannedEvent>> {
    const found = await look([key])
    const places = [...found].flatMap(([each, record]) => idsIn(record).map((id) => ({ key: each, id })))
    const events = newestOf(await eventsAt(places), after, places.length)
    return scanned(events.filter(isWanted), limit)
  }

  return {
    async scanEvents(scan) {
      if (scan.key !== undefined) return scanMessage(scan.key, scan)
      return scan.id === undefined ? scanIndex(scan) : scanId(scan.id, scan)
    },
    async scanDeadLetters({ id: only, ...page }) {
      if (only !== undefined) {
        const key = await findLetter(only)
        return { items: key === undefined ? [] : await eventsAt([{ key, id: only }]) }
      }
      const letters = await pageOfSet(engine, 'dead', { ...OLDEST_FIRST, ...page })
      const { items, next } = scanned(
        letters.map((letter) => ({ ...letter, place: placeOf(letter) })),
        page.limit,
      )
      const places = items.map(async ({ partition, member: id, place }) => {
        const key = (await deadLetter(engine, partition, id))?.key ?? ''
        return { id, key, place }
      })
      return { items: await eventsAt(await Promise.all(places)), next }
    },
    async scanSends(range) {
      const members = await pageOfSet(engine, 'sent', range)
      const found = await look(members.map(({ member }) => member))
      return scannedRows(members, range.limit, placeOf, ({ member: key }, place): ScannedRecord | undefined => {
        const record = found.get(key)
        return record && { key, place, record, payloads: [] }
      })
    },
    async scanRecords({ after, limit }) {
      const members = await pageOfSet(engine, 'records', { ...OLDEST_FIRST, after, limit })
      const found = await look(members.map(({ member }) => member))
      const places = [...found].flatMap(([key, record]) => idsIn(record).map((id) => ({ key, id })))
      const payloads = await payloadsAt(engine, places)
      const ofRecords = Map.groupBy(
        places.flatMap(({ key }, at) => {
          const payload = payloads[at]
          return payload === undefined ? [] : [{ key, payload }]
        }),
        ({ key }) => key,
      )
      return scannedRows(members, limit, placeOf, ({ member: key }, place): ScannedRecord | undefined => {
        const record = found.get(key)
        return record && { key, place, record, payloads: (ofRecords.get(key) ?? []).map(({ payload }) => payload) }
      })
    },
  }
}
