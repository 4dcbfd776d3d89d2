/** Reads records from Redis, writes them if no one has changed them, and rebuilds unreadable ones. */
import { randomInt } from 'node:crypto'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump, type Versioned, type VersionedChange } from '../../inbox/record-store.ts'
import { NEWER } from '../../inbox/runtime/codec.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { restore } from '../../messages/replay.ts'
import { storedRecord, type StoredPayload } from '../stored.ts'
import { splitSend, splitVersion, versionText } from './encoding.ts'
import { confirmedValuesAt, runIf, valuesAt, type Conditional, type Engine } from './engine.ts'
import { inCalls, type Partition } from './partitions.ts'
import { payloadsLeft } from './payloads.ts'
import { FOREIGN, VERSION_DIGITS } from './scripts.ts'
import {
  changeMore,
  commandsOf,
  indexRemoval,
  letterRemoval,
  recentCommands,
  recordKey,
  sendKey,
  type Command,
} from './writing.ts'

/** A version is a random number of the process with a counter appended, so it is unique. */
const PROCESSES = 2 ** 22
const WRITES = 2 ** 26

/** The raw values of a record's keys. */
export interface Stored {
  readonly key: string
  readonly record: Buffer | undefined
  readonly send: Buffer | undefined
}

export type Records = ReturnType<typeof createRecords>

export function createRecords(engine: Engine) {
  const { partitions, retention, report } = engine
  const ownVersions = randomInt(PROCESSES) * WRITES
  let writes = randomInt(WRITES)

  function nextVersion(): number {
    writes = (writes + 1) % WRITES
    return ownVersions + writes
  }

  async function storedAt(keys: readonly string[], valuesOf: typeof valuesAt): Promise<readonly Stored[]> {
    const places = keys.map((key) => ({ key }))
    const found = await inCalls(places, partitions, async ({ base }, some) => {
      const names = some.flatMap(({ key }) => [base + recordKey(key), base + sendKey(key)])
      const values = await valuesOf(engine.redis, names)
      return some.map(({ key }, at) => ({ key, record: values[2 * at], send: values[2 * at + 1] }))
    })
    return found.flatMap((stored) => stored ?? [])
  }

  /** Decodes records, and repairs corrupt ones. */
  async function recordsIn(stored: readonly Stored[]): Promise<ReadonlyMap<string, Versioned | typeof NEWER>> {
    const records = new Map<string, Versioned | typeof NEWER>()
    for (const one of stored) {
      const decoded = decode(one)
      const isWhole = decoded === NEWER || decoded.corrupt.length === 0
      const found = isWhole ? decoded : await repaired(one)
      if (found !== undefined) records.set(one.key, found)
    }
    return records
  }

  /**
   * Rebuilds a corrupt record: all its stored payloads become pending again. Undefined if nothing is left. Replaces the record
   * only if it is still the one that was read (`expected`), because another process may have repaired it meanwhile.
   */
  async function repaired(
    stored: Stored,
    expected = stored.record?.toString('latin1', 0, VERSION_DIGITS) ?? '',
  ): Promise<Versioned | undefined> {
    const { key } = stored
    const decoded = decode(stored)
    if (decoded === NEWER) return undefined
    const isLost = decoded.corrupt.includes('state')
    const left = isLost ? await payloadsLeft(engine, key) : []
    const { send } = decoded.record
    const after = isLost ? { ...restore(left.map(readable)), send } : decoded.record
    const version = nextVersion()
    const ids = left.map(({ id }) => id)
    const cleared: readonly Command[] = [
      ...indexRemoval(key),
      ...(send === undefined ? [['UNLINK', sendKey(key)] as const] : []),
      ...changeMore('SREM', key, ids),
      ...ids.flatMap(letterRemoval),
    ]
    const isEmpty = isLost && ids.length === 0 && send === undefined
    const change = isEmpty ? { before: after, after: undefined } : { before: undefined, after }
    const written = commandsOf({ key, expected: undefined, ...change, payloads: [], admitted: [] }, version, retention)
    const repair = { key: recordKey(key), expected, commands: [...cleared, ...written] }
    const [found] = (await runIf(engine, partitions.of(key), [repair], { fits: true })).found
    if (found === FOREIGN && expected !== FOREIGN) return repaired(stored, FOREIGN)
    if (found !== expected) return undefined
    // If only a due time is left of a record, the record was erased.
    if (isEmpty && expected === '') return undefined
    const part = isLost ? 'record' : 'send'
    report(new MessagingWebhooksError('state_damaged', `It is ${part} of message ${key}.`))
    return isEmpty ? undefined : { version, record: after }
  }

  async function writeCall(
    partition: Partition,
    changes: readonly VersionedChange[],
    asOfMs: number | undefined,
  ): Promise<readonly (number | 'jump' | undefined)[]> {
    const writing = changes.map((change) => {
      const version = nextVersion()
      const expected = change.expected === undefined ? '' : versionText(change.expected)
      const commands = commandsOf(change, version, retention)
      return { version, conditional: { key: recordKey(change.key), expected, commands } satisfies Conditional }
    })
    const conditionals = writing.map(({ conditional }) => conditional)
    const fits = changes.every(({ before, admitted }) => before !== undefined && admitted.length === 0)
    const first = recentCommands(changes)
    let found: readonly string[]
    try {
      found = (await runIf(engine, partition, conditionals, { asOfMs, fits, first })).found
    } catch (error) {
      if (error instanceof ClockJump) return changes.map(() => 'jump')
      throw error
    }
    for (const [at, { key }] of changes.entries())
      if (found[at] === FOREIGN) await repaired({ key, record: undefined, send: undefined }, FOREIGN)
    return writing.map(({ version, conditional: { expected } }, at) =>
      // The server has the new version already if the command was sent again after a lost response.
      found[at] === expected || found[at] === versionText(version) ? version : undefined,
    )
  }

  return {
    recordsIn,
    read: async (keys: readonly string[]) =>
      recordsIn((await storedAt(keys, confirmedValuesAt)).filter(({ record }) => record !== undefined)),
    /** Reads records for scans: writes and reports nothing, and leaves out unreadable records. */
    async look(keys: readonly string[]): Promise<ReadonlyMap<string, MessageRecord>> {
      const stored = await storedAt([...new Set(keys)], valuesAt)
      return new Map(
        stored.flatMap((one) => {
          const found = decode(one)
          return found === NEWER || found.corrupt.includes('state') ? [] : [[one.key, found.record] as const]
        }),
      )
    },
    async write(changes: readonly VersionedChange[], asOfMs: number | undefined) {
      const answers = await inCalls(
        changes,
        partitions,
        (partition, some) => writeCall(partition, some, asOfMs),
        sizeOf,
      )
      // Writes on other servers stay, so repeat only the others.
      if (answers.includes('jump') && !answers.some((answer) => typeof answer === 'number')) throw new ClockJump()
      return answers.map((answer) => (answer === 'jump' ? undefined : answer))
    },
  }
}

function decode({ record, send }: Stored) {
  const { version, state } = splitVersion(record)
  const stored = storedRecord({ state, ...splitSend(send) })
  return stored === NEWER ? NEWER : { version, ...stored }
}

/** Drops a corrupt record of a payload. */
function readable({ id, admittedAtMs, record, corrupt }: StoredPayload) {
  return { id, admittedAtMs, record: corrupt === undefined ? record : undefined }
}

function sizeOf({ admitted }: VersionedChange): number {
  return admitted.reduce((sum, { raw }) => sum + raw.length, 0)
}
