/** Finds records by their indexes: due, overdue, or past retention. */
import { monotonicMs } from '../../runtime/clock.ts'
import { dueMark } from '../../messages/record.ts'
import { isUnreadable } from '../../messages/replay.ts'
import type { DueLookup, SharedEngine, Versioned } from '../engine.ts'
import { RESERVED_MS } from '../stored.ts'
import { answered } from '../workers.ts'
import { ask, runIf, type Engine } from './engine.ts'
import type { Partition } from './partitions.ts'
import { deadLetter, idsLeft, payloadsAt } from './payloads.ts'
import { versionedIn, type Records, type Stored } from './records.ts'
import { bytesOrNone, integer, list, text, type Scored } from './replies.ts'
import { reserve } from './scripts.ts'
import { membersOf, OLDEST_FIRST, pageOfSet } from './sets.ts'
import { eventPlace, idsIn, recordKey } from './writing.ts'

/** Maximum per call: some milliseconds of the server's time, and as many arguments as a script can pass to a command. */
const MAX_RESERVED = 500

async function reserveIn(
  { redis, partitions, times }: Engine,
  partition: Partition,
  { nowMs, limit, exclude }: Pick<DueLookup, 'nowMs' | 'limit' | 'exclude'>,
) {
  const sentMs = monotonicMs()
  const own = [...exclude].filter((key) => partitions.of(key) === partition)
  const most = Math.min(limit, MAX_RESERVED)
  const dueMs = Math.floor(nowMs)
  const request = [dueMs, dueMs + RESERVED_MS, most, ...own]
  const [now, next, ...found] = list(await redis.run(reserve, [`${partition.base}due`], request))
  times.note(partition.index, integer(now), sentMs)
  const stored = found.map((one): Stored => {
    const [key, record, send] = list(one)
    return { key: text(key), record: bytesOrNone(record), send: bytesOrNone(send) }
  })
  return { stored, nextMs: text(next) === '' ? undefined : integer(next) }
}

/** Whether any record is due. */
export async function isAnyDue(engine: Engine, nowMs: number): Promise<boolean> {
  const request = { of: 'events' as const, nowMs, limit: 0, exclude: new Set<string>() }
  const heads = await answered(engine.partitions.all.map((partition) => reserveIn(engine, partition, request)))
  return heads.some(({ nextMs = Infinity }) => nextMs <= nowMs)
}

export type Finding = ReturnType<typeof createFinding>

/** `mayLease`: whether this process can lease records of the partition with this index now. */
export function createFinding(engine: Engine, records: Records, mayLease: (index: number) => boolean) {
  const { partitions, retention } = engine
  const { all } = partitions
  /** Positions of the walks through old members, by the key of the set. */
  const walkedTo = new Map<string, number>()

  /** Partitions with due records share the limit equally. If the limit is too small for all, the longest waiting ones come first. */
  async function reserveAll(request: DueLookup): ReturnType<typeof reserveIn> {
    const usable = all.filter(({ index }) => mayLease(index))
    const [only] = usable
    if (only === undefined) return { stored: [], nextMs: undefined }
    if (usable.length === 1) return reserveIn(engine, only, request)
    const heads = await answered(
      usable.map(async (partition) => ({
        partition,
        ...(await reserveIn(engine, partition, { ...request, limit: 0 })),
      })),
    )
    const waiting = heads
      .filter(({ nextMs = Infinity }) => nextMs <= request.nowMs)
      .sort((a, b) => (a.nextMs ?? 0) - (b.nextMs ?? 0))
      .slice(0, request.limit)
    const limit = Math.floor(request.limit / waiting.length)
    const found = await answered(waiting.map(({ partition }) => reserveIn(engine, partition, { ...request, limit })))
    const next = [...heads.filter((head) => !waiting.includes(head)), ...found].flatMap(({ nextMs }) => nextMs ?? [])
    return { stored: found.flatMap(({ stored }) => stored), nextMs: next.length === 0 ? undefined : Math.min(...next) }
  }

  /** Removes a record without waiting events from the queues. Otherwise it would be found forever, and counted. */
  async function unqueue(key: string, expected: string): Promise<void> {
    const writes = (['due', 'leased'] as const).map((set) => ['ZREM', set, key] as const)
    const unqueued = { key: recordKey(key), expected, writes }
    await runIf(engine, partitions.of(key), [unqueued], { fits: true })
  }

  /** Records and first payloads of the messages that are due. */
  async function dueEvents(request: DueLookup) {
    const { stored, nextMs } = await reserveAll(request)
    const found = new Map<string, Versioned>()
    for (const one of stored) {
      const { key } = one
      const versioned = versionedIn(one)
      if (dueMark(versioned.record) === undefined) await unqueue(key, versioned.version)
      else found.set(key, versioned)
    }
    return { keys: [...found.keys()], nextMs, found }
  }

  async function overdueSends({ nowMs, limit }: DueLookup) {
    const found = await pageOfSet(engine, 'overdue', { ...OLDEST_FIRST, limit })
    const keys = found.filter(({ score }) => score <= nowMs).slice(0, limit)
    return { keys: keys.map(({ member }) => member), nextMs: found[keys.length]?.score }
  }

  /** `nowMs`: the trusted time. */
  async function aged({ nowMs, limit }: DueLookup) {
    const { payloadMs, deadLetterMs, dedupeMs } = retention
    const most = Math.ceil(limit / all.length)
    const [letters, events, old] = await Promise.all([
      pageOfSet(engine, 'dead', { ...OLDEST_FIRST, toMs: nowMs - deadLetterMs, limit }),
      answered(all.map((partition) => olderThan(nowMs - payloadMs, 'events', partition, most))),
      answered(all.map((partition) => olderThan(nowMs - dedupeMs, 'records', partition, most))),
    ])
    const ofEvents = events.flat().map((member) => eventPlace(member).key)
    return { keys: [...new Set([...(await keysOfLetters(letters)), ...ofEvents, ...old.flat()])], nextMs: undefined }
  }

  async function keysOfLetters(letters: readonly (Pick<Scored, 'member'> & { readonly partition: Partition })[]) {
    const found = await Promise.all(letters.map(({ partition, member }) => deadLetter(engine, partition, member)))
    return found.flatMap((letter) => letter?.key ?? [])
  }

  /** One step through the old members of a set. Some must be kept, so the next step continues after them. */
  async function olderThan(ms: number, set: string, partition: Partition, most: number): Promise<readonly string[]> {
    const name = partition.base + set
    const from = walkedTo.get(name)
    const least = from === undefined ? '-inf' : `(${from}`
    const found = await membersOf(engine, partition, ['ZRANGEBYSCORE', set, least, `(${Math.floor(ms)}`], most)
    const [first, last] = [found[0]?.score, found.at(-1)?.score]
    if (last === undefined || found.length < most) walkedTo.delete(name)
    // More members of the last time may exist than were read.
    else walkedTo.set(name, last === first ? last : last - 1)
    return found.map(({ member }) => member)
  }

  /** The total size of a set over all partitions. */
  async function sizeOf(command: 'ZCARD' | 'SCARD', set: string): Promise<number> {
    const sizes = await Promise.all(all.map((partition) => ask(engine, partition, [command, set])))
    return sizes.reduce<number>((sum, size) => sum + integer(size), 0)
  }

  return {
    due(request: DueLookup): ReturnType<SharedEngine['due']> {
      if (request.of === 'events') return dueEvents(request)
      return request.of === 'sends' ? overdueSends(request) : aged(request)
    },
    payloads: (places) => payloadsAt(engine, places),
    async payloadIds(keys) {
      const found = [...(await records.look(keys))].map(async ([key, record]) => {
        const ids = isUnreadable(record) ? await idsLeft(engine, key) : idsIn(record)
        return ids.map((id) => ({ key, id }))
      })
      const places = (await Promise.all(found)).flat()
      const kept = await payloadsAt(engine, places)
      const ids = new Map<string, string[]>(keys.map((key) => [key, []]))
      for (const [at, { key, id }] of places.entries()) if (kept[at] !== undefined) ids.get(key)?.push(id)
      return keys.map((key) => ids.get(key) ?? [])
    },
    /** The partition of a dead letter, which its id does not tell, and the key of its record. */
    async findLetter(id: string) {
      for (const partition of all) {
        const letter = await deadLetter(engine, partition, id)
        if (letter !== undefined) return letter.key
      }
      return undefined
    },
    async counts() {
      const [due, leased, more, deadLetters] = await Promise.all([
        sizeOf('ZCARD', 'due'),
        sizeOf('ZCARD', 'leased'),
        sizeOf('SCARD', 'more'),
        sizeOf('ZCARD', 'dead'),
      ])
      return { unsettled: due + leased + more, deadLetters }
    },
  } satisfies Partial<SharedEngine> & { readonly findLetter: (id: string) => Promise<string | undefined> }
}
