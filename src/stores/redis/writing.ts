/** The Redis commands for a change of a record. They run in order, if the record has the expected version. */
import type { EventPlace, VersionedChange } from '../engine.ts'
import { encodeRecord } from '../codec.ts'
import type { Retention } from '../../messages/commands.ts'
import { isAtRest } from '../../messages/retention.ts'
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

/** The record key in the name of an event. */
const messageIn = (member: string): string => member.slice(0, member.indexOf(':'))
/** The event id in the name of an event. */
const eventIn = (member: string): string => member.slice(member.indexOf(':') + 1)

export function commandsOf(change: VersionedChange, retention: Retention): readonly Command[] {
  const { key, version, after } = change
  const beside = [
    ...storedCommands(change),
    ...sendCommands(change),
    ...indexCommands(change),
    ...behindCommands(change),
    ...payloadCommands(change, retention),
  ]
  if (after === null) return [...beside, ['UNLINK', recordKey(key)]]
  // A refused command ends the script, so index entries are written before the record and removed after it.
  const isRemoval = ([name]: Command): boolean => REMOVALS.has(name)
  return [
    ...beside.filter((command) => !isRemoval(command)),
    ['SET', recordKey(key), version + encodeRecord(after), ...lifeOf(after, retention)],
    ...beside.filter(isRemoval),
  ]
}

const REMOVALS: ReadonlySet<string> = new Set(['ZREM', 'SREM', 'HDEL', 'UNLINK', 'PEXPIRE'])

/** A record in an index must not expire by itself: `aged` finds it. */
function lifeOf(record: MessageRecord, { dedupeMs }: Retention): readonly string[] {
  const expires = isAtRest(record) && record.send === undefined
  return expires ? ['PX', String(Math.ceil(dedupeMs))] : []
}

/** The newest events of each partition that a page of events finds without a walk through all payloads. */
export const RECENT = 2_000
export const recentPlace = (member: string): EventPlace => ({ id: messageIn(member), key: eventIn(member) })

function storedCommands(change: VersionedChange): readonly Command[] {
  return admittedIn(change).flatMap(({ event, admittedAtMs }): readonly Command[] => {
    const { id } = event
    return [
      ['SET', payloadKey(change.key, id), encodePayload(event, admittedAtMs)],
      // Ordered like the events of a page: by time, then by id.
      ['ZADD', 'recent', String(admissionMark(admittedAtMs)), `${id}:${change.key}`],
      // Ids are digests: about one event in 256 shortens the set.
      ...(id.endsWith('00') ? ([['ZREMRANGEBYRANK', 'recent', '0', String(-RECENT - 1)]] as const) : NONE),
    ]
  })
}

const NONE: readonly never[] = []

/** The sorted sets of record keys, and the position of a record in each. */
const INDEXES: readonly (readonly [set: string, placeOf: (record: MessageRecord) => number | undefined])[] = [
  ['due', (record) => (record.lease === undefined ? dueMark(record) : undefined)],
  ['leased', (record) => (record.lease === undefined ? undefined : dueMark(record))],
  ['sent', ({ send }) => send && Math.floor(send.sentAtMs)],
  ['overdue', overdueMark],
]

function indexCommands({ key, before, after }: VersionedChange): readonly Command[] {
  return INDEXES.flatMap(([set, placeOf]): readonly Command[] => {
    const [was, is] = [before && placeOf(before), after === null ? undefined : placeOf(after)]
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

/** The commands that remove a record also remove its payloads. */
function payloadCommands(
  { key, before, after, payloads }: VersionedChange,
  { payloadMs }: Retention,
): readonly Command[] {
  const removal = (id: string): Command => ['UNLINK', payloadKey(key, id)]
  const revived = before?.dead.filter(({ id }) => after?.dead.some((entry) => entry.id === id) !== true) ?? NONE
  const gone = before === undefined || after !== null ? NONE : idsIn(before)
  return [
    ...revived.flatMap(({ id }) => letterRemoval(id)),
    ...gone.map(removal),
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
          // PEXPIRE with 0 removes the payload at once.
          return [['PEXPIRE', payloadKey(key, id), String(Math.ceil(payloadMs))]]
        case 'removed':
          return [removal(id)]
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
