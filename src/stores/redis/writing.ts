/** The Redis commands for a change of a record, if it has the expected version. */
import type { EventPlace, VersionedChange } from '../engine.ts'
import { encodeRecord } from '../codec.ts'
import type { Retention } from '../../messages/commands.ts'
import { dueMark, overdueMark } from '../../messages/record.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { admittedIn } from '../stored.ts'
import type { RedisArgument } from './clients/connection.ts'
import { admissionMark, encodeDead, encodePayload, encodeStoredSend } from './encoding.ts'

/** A command: its name, its key without the prefix of the partition, and its arguments. */
export type Command = readonly [name: string, key: string, ...rest: RedisArgument[]]

export const recordKey = (key: string): string => `r:${key}`
export const sendKey = (key: string): string => `s:${key}`
export const payloadKey = (key: string, id: string): string => `p:${key}:${id}`
/** Identifies an event in a set of its partition. */
const memberOf = (key: string, id: string): string => `${key}:${id}`

/** `nowMs`: when the record begins, if the change creates it. */
export function commandsOf(change: VersionedChange, { payloadMs }: Retention, nowMs: number): readonly Command[] {
  const { key, version, before, after } = change
  const begins = before === undefined && after !== null
  const beside = [
    ...(begins ? ([['ZADD', 'records', String(Math.floor(nowMs)), key]] as const) : NONE),
    ...storedCommands(change),
    ...sendCommands(change),
    ...indexCommands(change),
    ...behindCommands(change),
    ...payloadCommands(change, payloadMs > 0),
  ]
  if (after === null) return [...beside, ['ZREM', 'records', key], ['UNLINK', recordKey(key)]]
  return [...beside, ['SET', recordKey(key), version + encodeRecord(after)]]
}

/** The values of one command: more than Lua passes to a call are several commands. */
const MAX_VALUES = 1_000

/**
 * The commands of several changes. Those of one kind on one set are one, because a call costs as much as its work for several
 * members. A refused command ends the script, so index entries are written before the records and removed after them.
 */
export function gathered(
  changes: readonly { readonly first?: readonly Command[]; readonly writes: readonly Command[] }[],
): readonly Command[] {
  const first = changes.flatMap((change) => change.first ?? NONE)
  const others: Command[] = []
  const texts: (readonly [key: string, ...value: RedisArgument[]])[] = []
  const later: Command[] = []
  const [added, removed] = [new Map<string, RedisArgument[]>(), new Map<string, RedisArgument[]>()]
  for (const { writes } of changes) {
    for (const command of writes) {
      const [name, key, ...rest] = command
      if (name === 'SET') texts.push([key, ...rest])
      else if (name === 'ZADD') listIn(added, key).push(...rest)
      else if (name === 'ZREM') listIn(removed, key).push(...rest)
      else if (name === 'SADD' || name === 'HSET') others.push(command)
      else later.push(command)
    }
  }
  return [
    ...first,
    ...others,
    ...onSets('ZADD', added),
    ...inParts(texts).flatMap(([one, ...others]): readonly Command[] =>
      one === undefined ? NONE : [['MSET', ...one, ...others.flat()]],
    ),
    ...onSets('ZREM', removed),
    ...later,
  ]
}

function listIn(lists: Map<string, RedisArgument[]>, key: string): RedisArgument[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}

function onSets(name: string, sets: ReadonlyMap<string, readonly RedisArgument[]>): readonly Command[] {
  return [...sets].flatMap(([set, values]) => inParts(values).map((some): Command => [name, set, ...some]))
}

function inParts<T>(values: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(values.length / MAX_VALUES)
  return Array.from({ length: count }, (_, at) => values.slice(at * MAX_VALUES, (at + 1) * MAX_VALUES))
}

/** A member of the set `events`. The id comes first: pages of events are ordered by time, then by id. */
const eventMember = (key: string, id: string): string => `${id}:${key}`

export function eventPlace(member: string): EventPlace {
  const end = member.indexOf(':')
  return { id: member.slice(0, end), key: member.slice(end + 1) }
}

function storedCommands(change: VersionedChange): readonly Command[] {
  return admittedIn(change).flatMap(({ event, admittedAtMs }): readonly Command[] => {
    return [
      ['SET', payloadKey(change.key, event.id), encodePayload(event, admittedAtMs)],
      ['ZADD', 'events', String(admissionMark(admittedAtMs)), eventMember(change.key, event.id)],
    ]
  })
}

const NONE: readonly never[] = []

/** The sorted sets of record keys, and the score of a record in each. */
const INDEXES: readonly (readonly [set: string, scoreOf: (record: MessageRecord) => number | undefined])[] = [
  ['due', (record) => (record.lease === undefined ? dueMark(record) : undefined)],
  ['leased', (record) => (record.lease === undefined ? undefined : dueMark(record))],
  ['sent', ({ send }) => send && Math.floor(send.sentAtMs)],
  ['overdue', overdueMark],
]

function indexCommands({ key, before, after }: VersionedChange): readonly Command[] {
  return INDEXES.flatMap(([set, scoreOf]): readonly Command[] => {
    const [was, is] = [before && scoreOf(before), after === null ? undefined : scoreOf(after)]
    if (is === was) return NONE
    return [is === undefined ? ['ZREM', set, key] : ['ZADD', set, String(is), key]]
  })
}

/** The commands that remove a record whose text cannot be read from the indexes. Its payloads expire. */
export function removalOf(key: string, ids: readonly string[], { payloadMs }: Retention): readonly Command[] {
  const lifeMs = String(Math.ceil(payloadMs))
  return [
    ...INDEXES.map(([set]): Command => ['ZREM', set, key]),
    ['UNLINK', sendKey(key)],
    ...changeMore('SREM', key, ids),
    ...ids.flatMap(letterRemoval),
    ...ids.map((id): Command => ['ZREM', 'events', eventMember(key, id)]),
    ...ids.map((id): Command => ['PEXPIRE', payloadKey(key, id), lifeMs]),
  ]
}

/** Commands for the set `more`: events that wait behind another one of their record. */
function behindCommands({ key, before, after }: VersionedChange): readonly Command[] {
  const [was, is] = [behindFirst(before), behindFirst(after)]
  const [wasBehind, isBehind] = [new Set(was), new Set(is)]
  const added = is.filter((id) => !wasBehind.has(id))
  const removed = was.filter((id) => !isBehind.has(id))
  return [...changeMore('SADD', key, added), ...changeMore('SREM', key, removed)]
}

function behindFirst(record: MessageRecord | null | undefined): readonly string[] {
  return !record || record.waiting.length < 2 ? NONE : record.waiting.slice(1).map(({ id }) => id)
}

function changeMore(command: 'SADD' | 'SREM', key: string, ids: readonly string[]): readonly Command[] {
  return ids.length === 0 ? NONE : [[command, 'more', ...ids.map((id) => memberOf(key, id))]]
}

function sendCommands({ key, before, after }: VersionedChange): readonly Command[] {
  const send = after?.send
  if (before?.send === send) return NONE
  return [send === undefined ? ['UNLINK', sendKey(key)] : ['SET', sendKey(key), encodeStoredSend(send)]]
}

/** The commands that remove a record also remove its payloads. `keepsSettled`: the payloads of settled events, for a time. */
function payloadCommands({ key, before, after, payloads }: VersionedChange, keepsSettled: boolean): readonly Command[] {
  const removal = (id: string): readonly Command[] => [
    ['ZREM', 'events', eventMember(key, id)],
    ['UNLINK', payloadKey(key, id)],
  ]
  const revived = before?.dead.filter(({ id }) => after?.dead.some((entry) => entry.id === id) !== true) ?? NONE
  const gone = before === undefined || after !== null ? NONE : idsIn(before)
  return [
    ...revived.flatMap(({ id }) => letterRemoval(id)),
    ...gone.flatMap(removal),
    ...payloads.flatMap((change): readonly Command[] => {
      const { id } = change
      switch (change.becomes) {
        case 'dead': {
          const diedAtMs = after?.dead.find((entry) => entry.id === id)?.diedAtMs ?? 0
          return [
            ['ZADD', 'dead', String(Math.floor(diedAtMs)), id],
            ['HSET', 'deadof', id, encodeDead(key, change.error)],
          ]
        }
        case 'settled':
          return keepsSettled ? NONE : removal(id)
        case 'removed':
          return removal(id)
        case 'stored':
        case 'pending':
          return NONE
      }
    }),
  ]
}

function letterRemoval(id: string): readonly Command[] {
  return [
    ['ZREM', 'dead', id],
    ['HDEL', 'deadof', id],
  ]
}

export function idsIn({ waiting, dead, settled }: MessageRecord): readonly string[] {
  return [...waiting, ...dead, ...settled].map(({ id }) => id)
}
