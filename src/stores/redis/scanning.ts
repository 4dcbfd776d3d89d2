/**
 * Lists for people. Redis has no index of events by time, for each would have to be entered there: a page of all events is found by a
 * walk through all payloads, in short steps, that keeps the newest.
 */
import { isFiltered, isInTime, MOST_LOOKED_AT } from '../../inbox/filters.ts'
import type {
  EventPlace,
  EventScan,
  Indexes,
  Payload,
  Scanned,
  ScannedEvent,
  ScannedRecord,
} from '../../inbox/record-store.ts'
import { damagedRecord } from '../../messages/event-record.ts'
import { answered } from '../workers.ts'
import { newestOf, scanned, scannedRows, writtenPlace } from '../pages.ts'
import { type Partition } from './partitions.ts'
import { admittedAtMsIn, decodeDead } from './encoding.ts'
import { ask, keysOf, membersOf, type Engine } from './engine.ts'
import type { Finding } from './finding.ts'
import { idsIn, type Records } from './records.ts'
import type { Scored } from './replies.ts'
import { createWalk, stepFrom, type Walked } from './payloads.ts'
import { payloadKey, recordKey } from './writing.ts'

type Scans = Pick<Indexes, 'scanEvents' | 'scanDeadLetters' | 'scanSends' | 'scanRecords'>

const READ_AT_ONCE = 200
const NO_BYTES = Buffer.alloc(0)

interface Place extends Walked {
  readonly atMs: number
}

export function createScans(engine: Engine, records: Records, { overflowOf }: Pick<Finding, 'overflowOf'>): Scans {
  const { redis, partitions } = engine
  const walk = createWalk(engine)

  /** Members of a sorted set in all partitions, by score and member: those behind `after`, one more than a page. */
  async function pageOfSet(
    set: string,
    { after, limit, newestFirst, fromMs, toMs }: Range,
  ): Promise<readonly Member[]> {
    const [, time, last = ''] = /^(-?\d+)\.(.*)$/s.exec(after ?? '') ?? []
    const least = newestFirst ? boundOf(fromMs) : (time ?? boundOf(fromMs))
    const most = newestFirst && time !== undefined ? time : `(${boundOf(toMs)}`
    const isAhead = ({ score, member }: Scored): boolean => {
      if (time === undefined || score !== Number(time)) return true
      return newestFirst ? member < last : member > last
    }
    const found = await answered(
      partitions.all.map(async (partition) => {
        // Of those of the time where the last page ended some were on it.
        for (let count = limit + 1; ; count *= 2) {
          const members = await membersOf(engine, partition, { set, least, most, limit: count, newestFirst })
          const ahead = members.filter(isAhead).map((one): Member => ({ ...one, partition }))
          if (ahead.length > limit || members.length < count) return ahead.slice(0, limit + 1)
        }
      }),
    )
    const sign = newestFirst ? -1 : 1
    return found
      .flat()
      .sort((a, b) => sign * (a.score - b.score || (a.member < b.member ? -1 : 1)))
      .slice(0, limit + 1)
  }

  /** Events with their payloads, as far as these are stored; dead ones with their errors. */
  async function eventsAt(places: readonly EventPlace[]): Promise<readonly ScannedEvent[]> {
    const [found, payloads] = await Promise.all([
      records.look(places.map(({ key }) => key)),
      records.payloadsAt(places),
    ])
    const events = await Promise.all(
      places.map(async ({ key, id }, at): Promise<ScannedEvent | undefined> => {
        const record = found.get(key)
        if (record === undefined) return undefined
        const stored = payloads[at]
        const dead = record.dead.find((entry) => entry.id === id)
        const settled = record.settled.find((entry) => entry.id === id)
        const atMs = stored?.atMs ?? settled?.endedAtMs ?? dead?.diedAtMs ?? 0
        const payload = dead === undefined ? stored : deadPayload(id, stored, dead.diedAtMs, await errorOf(key, id))
        return { key, id, atMs, place: writtenPlace({ id, atMs }), record, payload }
      }),
    )
    return events.flatMap((event) => event ?? [])
  }

  async function errorOf(key: string, id: string): Promise<string | undefined> {
    const reply = await ask(engine, partitions.of(key), ['HGET', 'deadof', id])
    return Buffer.isBuffer(reply) ? decodeDead(reply).error : undefined
  }

  /** The newest payloads before a place, each once: a walk may come by twice. */
  async function newestOfAll({ after, id, filter }: EventScan, most: number): Promise<readonly Place[]> {
    let newest: readonly Place[] = []
    for await (const step of walk(payloadKey('*', id ?? '*'))) {
      const found = step.map((one): Place => ({ ...one, atMs: admittedAtMsIn(one.head) ?? 0 }))
      const gathered = [...newest, ...found.filter(({ atMs }) => isInTime(filter, atMs))]
      // Of many, they are put in order now and then.
      newest = gathered.length > 4 * most ? newestOf(gathered, after, most) : gathered
    }
    return newestOf(newest, after, most)
  }

  async function scanAll(scan: EventScan): Promise<Scanned<ScannedEvent>> {
    const { limit, isMeant } = scan
    const most = isFiltered(scan.filter) ? MOST_LOOKED_AT : limit
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

  /** All of one message, with what was settled and of which only the identity is left. */
  async function scanMessage(key: string, { after, limit, isMeant }: EventScan): Promise<Scanned<ScannedEvent>> {
    const found = await records.look([key, ...(await overflowOf(key))])
    const places = [...found].flatMap(([each, record]) => idsIn(record).map((id) => ({ key: each, id })))
    const events = newestOf(await eventsAt(places), after, places.length)
    return scanned(events.filter(isMeant), limit)
  }

  return {
    scanEvents: (scan) => (scan.key === undefined ? scanAll(scan) : scanMessage(scan.key, scan)),
    async scanDeadLetters({ after, limit }) {
      const range = { after, limit, newestFirst: false, fromMs: -Infinity, toMs: Infinity }
      const { items, next } = scanned(
        (await pageOfSet('dead', range)).map((one) => ({ ...one, place: `${one.score}.${one.member}` })),
        limit,
      )
      const places = await Promise.all(
        items.map(async ({ partition, member: id, place }) => {
          const reply = await ask(engine, partition, ['HGET', 'deadof', id])
          return { id, key: Buffer.isBuffer(reply) ? decodeDead(reply).key : '', place }
        }),
      )
      const placeOf = new Map(places.map(({ id, place }) => [id, place]))
      const events = await eventsAt(places)
      return { items: events.map((event) => ({ ...event, place: placeOf.get(event.id) ?? '' })), next }
    },
    async scanSends(range) {
      const members = await pageOfSet('sent', range)
      const found = await records.look(members.map(({ member }) => member))
      const placeOf = ({ member, score }: Scored): string => `${score}.${member}`
      return scannedRows(members, range.limit, placeOf, ({ member: key }, place): ScannedRecord | undefined => {
        const record = found.get(key)
        return record && { key, place, record, payloads: [] }
      })
    },
    /** A step of a walk; `limit` does not count, for Redis looks at a number of keys. */
    async scanRecords({ after }) {
      const [, index = '0', from = '0'] = /^(\d{1,6}) (\d{1,20})$/.exec(after ?? '') ?? []
      const group = partitions.groups[Number(index)]
      if (group === undefined) return { items: [], next: undefined }
      const { cursor, found } = await stepFrom(redis, keysOf(group), from, recordKey('*'))
      const keys = found.map(({ key }) => key).filter((key) => partitions.of(key).group === group[0].group)
      const items = await Promise.all(
        [...(await records.look(keys))].map(async ([key, record]): Promise<ScannedRecord> => {
          const payloads = await records.payloadsAt(idsIn(record).map((id) => ({ key, id })))
          return { key, place: '', record, payloads: payloads.filter((one) => one !== undefined) }
        }),
      )
      if (cursor !== '') return { items, next: `${index} ${cursor}` }
      return { items, next: Number(index) + 1 < partitions.groups.length ? `${Number(index) + 1} 0` : undefined }
    },
  }
}

/** It can be discarded although nothing is left of it. */
function deadPayload(id: string, stored: Payload | undefined, diedAtMs: number, error: string | undefined): Payload {
  if (stored !== undefined) return { ...stored, error }
  return { id, record: damagedRecord(undefined, diedAtMs), raw: NO_BYTES, corrupt: 'payload', error }
}

/** As Redis writes what has no end. */
function boundOf(ms: number): string {
  return Number.isFinite(ms) ? String(Math.ceil(ms)) : ms < 0 ? '-inf' : '+inf'
}

interface Range {
  readonly after: string | undefined
  readonly limit: number
  readonly newestFirst: boolean
  readonly fromMs: number
  readonly toMs: number
}

interface Member extends Scored {
  readonly partition: Partition
}
