/** Records in Redis: read, written where nobody has changed them, and made anew where they cannot be read. */
import { randomInt } from 'node:crypto'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump, type SharedStore, type Versioned, type VersionedChange } from '../../inbox/record-store.ts'
import { decodeRecord, NEWER } from '../../inbox/runtime/codec.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { newerRecord } from '../../inbox/runtime/commands.ts'
import { restore } from '../../messages/restore.ts'
import { callsFor, inCalls, type Call } from './partitions.ts'
import { decodeStoredSend, splitVersion, versionText } from './encoding.ts'
import { ask, runIf, valuesAt, type Conditional, type Engine } from './engine.ts'
import { createPayloads, type Payloads } from './payloads.ts'
import { list, text } from './replies.ts'
import { FOREIGN, VERSION_DIGITS } from './scripts.ts'
import {
  commandsOf,
  letterRemoval,
  memberOf,
  messageIn,
  recordKey,
  sendKey,
  sendRemoval,
  type Command,
} from './writing.ts'

/** A record of a later version of this package is put off for so long. */
const NEWER_MS = 60_000
/** Of an index, when it is searched. */
const KEYS_A_LOOK = '500'
/** Of this process: with a counter behind it, each version is given out once. */
const PROCESSES = 2 ** 22
const WRITES = 2 ** 26

/** What stands at the keys of a record. */
export interface Stored {
  readonly key: string
  readonly record: Buffer | undefined
  readonly send: Buffer | undefined
}

export interface Records extends Pick<SharedStore, 'read' | 'write'>, Payloads {
  /** For people: writes and reports nothing; what cannot be read is left out. */
  look(keys: readonly string[]): Promise<ReadonlyMap<string, MessageRecord>>
  /** What was read of records. */
  recordsIn(stored: readonly Stored[]): Promise<ReadonlyMap<string, Versioned | typeof NEWER>>
  /** The same of what is due: what is of a later version is put off, so that it is not found at once. */
  dueRecordsIn(stored: readonly Stored[], nowMs: number): Promise<ReadonlyMap<string, Versioned>>
  storedAt(keys: readonly string[]): Promise<readonly Stored[]>
}

export function createRecords(engine: Engine): Records {
  const { partitions, retention, report } = engine
  const payloads = createPayloads(engine)
  const ownVersions = randomInt(PROCESSES) * WRITES
  let writes = randomInt(WRITES)

  function nextVersion(): number {
    writes = (writes + 1) % WRITES
    return ownVersions + writes
  }

  function storedAt(keys: readonly string[]): Promise<readonly Stored[]> {
    const calls = callsFor(keys, partitions, (key) => key)
    return inCalls(calls, async ({ members }) => {
      const names = members.flatMap(({ item: key, partition: { base } }) => [
        base + recordKey(key),
        base + sendKey(key),
      ])
      const values = await valuesAt(engine, names)
      return members.map(({ item: key }, at) => ({ key, record: values[2 * at], send: values[2 * at + 1] }))
    })
  }

  async function recordsIn(stored: readonly Stored[]): Promise<ReadonlyMap<string, Versioned | typeof NEWER>> {
    const records = new Map<string, Versioned | typeof NEWER>()
    for (const one of stored) {
      const decoded = decodedOf(one)
      const found = decoded === 'corrupt' ? await restored(one) : decoded
      if (found !== undefined) records.set(one.key, found)
    }
    return records
  }

  async function dueRecordsIn(stored: readonly Stored[], nowMs: number): Promise<ReadonlyMap<string, Versioned>> {
    const records = new Map<string, Versioned>()
    for (const [key, found] of await recordsIn(stored)) {
      if (found !== NEWER) {
        records.set(key, found)
        continue
      }
      report(newerRecord(key))
      for (const set of ['due', 'leased'])
        await ask(engine, partitions.of(key), ['ZADD', set, 'XX', String(Math.floor(nowMs + NEWER_MS)), key])
    }
    return records
  }

  /** Of which message the record of a single event is, as the index says: nothing else is left to tell. */
  async function messageOf(key: string): Promise<string | undefined> {
    let cursor = '0'
    do {
      const scan = ['ZSCAN', 'overflow', cursor, 'MATCH', memberOf('*', key), 'COUNT', KEYS_A_LOOK] as const
      const [next, members] = list(await ask(engine, partitions.of(key), scan))
      const [member] = list(members)
      if (member !== undefined) return messageIn(text(member))
      cursor = text(next)
    } while (cursor !== '0')
    return undefined
  }

  /** Writes anew what cannot be read: of a record, all stored payloads are pending again. Undefined where nothing is left. */
  async function restored({ key, record, send }: Stored, isForeign = false): Promise<Versioned | undefined> {
    const partition = partitions.of(key)
    const split = record && splitVersion(record)
    const state = split && decodeRecord(split.text)
    const known = state === undefined || state === NEWER ? undefined : state
    const left = known === undefined ? await payloads.leftOf(key) : []
    const readSend = send && decodeStoredSend(send)
    const of = known === undefined ? await messageOf(key) : known.of
    const before: MessageRecord = known ?? restore(left, of)
    const after: MessageRecord = readSend === undefined ? before : { ...before, send: readSend }
    const ids = left.map(({ id }) => id)
    const isEmpty = known === undefined && ids.length === 0 && readSend === undefined
    const version = nextVersion()
    const cleared: readonly Command[] = [
      ['ZREM', 'due', key],
      ['ZREM', 'leased', key],
      ...(readSend === undefined ? sendRemoval(key) : []),
      ...(ids.length === 0 ? [] : [['SREM', 'more', ...ids.map((id) => memberOf(key, id))] as const]),
      ...ids.flatMap(letterRemoval),
      ...(of === undefined || !isEmpty ? [] : [['ZREM', 'overflow', memberOf(of, key)] as const]),
    ]
    const written = commandsOf(
      { key, expected: undefined, before: undefined, after, payloads: [], admitted: [] },
      version,
      retention,
    )
    // Only what was read is replaced: another process may have repaired it meanwhile.
    const expected = isForeign ? FOREIGN : (record?.toString('latin1', 0, VERSION_DIGITS) ?? '')
    const commands: readonly Command[] = [...cleared, ...(isEmpty ? [['UNLINK', recordKey(key)] as const] : written)]
    const { found } = await runIf(engine, [{ partition, key: recordKey(key), expected, commands }], { fits: true })
    if (found[0] === FOREIGN && !isForeign) return restored({ key, record, send }, true)
    if (found[0] !== expected) return undefined
    // Where a due time is all that is left of a record, it was forgotten.
    if (isEmpty && record === undefined && !isForeign) return undefined
    report(
      new MessagingWebhooksError(
        'state_damaged',
        `It is ${known === undefined ? 'record' : 'send'} of message ${key}.`,
      ),
    )
    return isEmpty ? undefined : { version, record: after }
  }

  async function writeCall(
    { members }: Call<VersionedChange>,
    asOfMs: number | undefined,
  ): Promise<readonly (number | 'conflict' | 'jump')[]> {
    const versions = members.map(nextVersion)
    const conditionals = members.map(({ item, partition }, at): Conditional => {
      return {
        partition,
        key: recordKey(item.key),
        expected: item.expected === undefined ? '' : versionText(item.expected),
        commands: commandsOf(item, versions[at] ?? 0, retention),
      }
    })
    const fits = members.every(({ item }) => item.before !== undefined && item.admitted.length === 0)
    let found: readonly string[]
    try {
      found = (await runIf(engine, conditionals, { asOfMs, fits })).found
    } catch (error) {
      if (error instanceof ClockJump) return members.map(() => 'jump')
      throw error
    }
    const answers: (number | 'conflict')[] = []
    for (const [at, { item }] of members.entries()) {
      const version = versions[at] ?? 0
      // The new version, where the command was sent again because the answer to it was lost.
      const isWritten = found[at] === conditionals[at]?.expected || found[at] === versionText(version)
      answers.push(isWritten ? version : 'conflict')
      if (found[at] === FOREIGN) await restored({ key: item.key, record: undefined, send: undefined }, true)
    }
    return answers
  }

  return {
    ...payloads,
    storedAt,
    recordsIn,
    dueRecordsIn,
    // Of what is due something must be left; what is not there is not read.
    read: async (keys) => recordsIn((await storedAt(keys)).filter(({ record }) => record !== undefined)),
    async look(keys) {
      const stored = await storedAt([...new Set(keys)])
      return new Map(
        stored.flatMap((one) => {
          const whole = decodedOf(one)
          const found = whole === 'corrupt' ? decodedOf({ ...one, send: undefined }) : whole
          return found === 'corrupt' || found === NEWER ? [] : [[one.key, found.record] as const]
        }),
      )
    },
    async write(changes, asOfMs) {
      const calls = callsFor(changes, partitions, ({ key }) => key, sizeOf)
      const answers = await inCalls(calls, (call) => writeCall(call, asOfMs))
      // What other servers have written stays, so the rest is decided again and not all of it.
      if (answers.includes('jump') && !answers.some((answer) => typeof answer === 'number')) throw new ClockJump()
      return answers.map((answer) => (typeof answer === 'number' ? answer : undefined))
    },
  }
}

function decodedOf({ record, send }: Stored): Versioned | 'corrupt' | typeof NEWER {
  const split = record && splitVersion(record)
  const decoded = split && decodeRecord(split.text)
  if (decoded === NEWER) return NEWER
  if (split === undefined || decoded === undefined) return 'corrupt'
  const { version } = split
  if (send === undefined) return { version, record: decoded }
  const readSend = decodeStoredSend(send)
  return readSend === undefined ? 'corrupt' : { version, record: { ...decoded, send: readSend } }
}

/** Of all events that a record knows. */
export function idsIn({ waiting, dead, settled }: MessageRecord): readonly string[] {
  return [...waiting, ...dead, ...settled].map(({ id }) => id)
}

function sizeOf({ admitted }: VersionedChange): number {
  return admitted.reduce((sum, { raw }) => sum + raw.length, 0)
}
