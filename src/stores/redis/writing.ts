/** The Redis commands for a change of a record. They run in order, if the record has the expected version. */
import type { EventPlace, VersionedChange } from '../../inbox/record-store.ts'
import { encodeRecord } from '../../inbox/runtime/codec.ts'
import { isAtRest, type Retention } from '../../messages/retention.ts'
import { dueMark, overdueMark } from '../../messages/record.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { admittedAtMs } from '../stored.ts'
import type { RedisArgument } from './clients/connection.ts'
import { admissionMark, encodeDead, encodePayload, encodeStoredSend, versionText } from './encoding.ts'

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

export function commandsOf(change: VersionedChange, version: number, retention: Retention): readonly Command[] {
  const { key, after } = change
  const beside = [
    ...storedCommands(change),
    ...sendCommands(change),
    ...indexCommands(change),
    ...behindCommands(change),
    ...payloadCommands(change, retention),
  ]
  if (after === undefined) return [...beside, ['UNLINK', recordKey(key)]]
  // A refused command ends the script, so index entries are written before the record and removed after it.
  const isRemoval = ([name]: Command): boolean => REMOVALS.has(name)
  return [
    ...beside.filter((command) => !isRemoval(command)),
    ['SET', recordKey(key), versionText(version) + encodeRecord(after), ...lifeOf(after, retention)],
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

/**
 * Adds the events of all these changes to the set of the newest. Events of a change that is not written then have an entry without
 * a payload, which readers skip.
 */
export function recentCommands(changes: readonly VersionedChange[]): readonly Command[] {
  const added: string[] = []
  for (const change of changes)
    for (const event of change.admitted) {
      // Ordered like the events of a page: by time, then by id.
      added.push(String(admissionMark(admittedAtMs(change.after, event))), `${event.id}:${change.key}`)
    }
  if (added.length === 0) return NONE
  // Ids are digests: about one event in 256 shortens the set.
  const isShortened = changes.some(({ admitted }) => admitted.some(({ id }) => id.endsWith('00')))
  return [
    ['ZADD', 'recent', ...added],
    ...(isShortened ? ([['ZREMRANGEBYRANK', 'recent', '0', String(-RECENT - 1)]] as const) : NONE),
  ]
}

function storedCommands(change: VersionedChange): readonly Command[] {
  return change.admitted.map((event) => {
    return ['SET', payloadKey(change.key, event.id), encodePayload(event, admittedAtMs(change.after, event))]
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
    const [was, is] = [before && placeOf(before), after && placeOf(after)]
    if (is === was) return NONE
    return [is === undefined ? ['ZREM', set, key] : ['ZADD', set, String(is), key]]
  })
}

export function indexRemoval(key: string): readonly Command[] {
  return INDEXES.map(([set]) => ['ZREM', set, key])
}

/** Commands for the set `more`: events that wait behind another one of their record. */
function behindCommands({ key, before, after }: VersionedChange): readonly Command[] {
  const [was, is] = [behindFirst(before), behindFirst(after)]
  const [wasBehind, isBehind] = [new Set(was), new Set(is)]
  const added = is.filter((id) => !wasBehind.has(id))
  const removed = was.filter((id) => !isBehind.has(id))
  return [...changeMore('SADD', key, added), ...changeMore('SREM', key, removed)]
}

function behindFirst(record: MessageRecord | undefined): readonly string[] {
  return record === undefined || record.waiting.length < 2 ? NONE : record.waiting.slice(1).map(({ id }) => id)
}

export function changeMore(command: 'SADD' | 'SREM', key: string, ids: readonly string[]): readonly Command[] {
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
  const gone = before === undefined || after !== undefined ? NONE : idsIn(before)
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
        case 'pending':
          return NONE
      }
    }),
  ]
}

export function letterRemoval(id: string): readonly Command[] {
  return [
    ['ZREM', 'dead', id],
    ['HDEL', 'deadof', id],
  ]
}

export function idsIn({ waiting, dead, settled }: MessageRecord): readonly string[] {
  return [...waiting, ...dead, ...settled].map(({ id }) => id)
}
