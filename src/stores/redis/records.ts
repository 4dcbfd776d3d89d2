/** Reads records from Redis, writes them if no one has changed them, and replaces unreadable ones. */
import { randomInt } from 'node:crypto'
import { ClockJump, type Versioned, type VersionedChange } from '../../inbox/record-store.ts'
import type { MessageRecord } from '../../messages/record.ts'
import { isUnreadable, unreadableRecord } from '../../messages/replay.ts'
import { storedRecord } from '../stored.ts'
import { splitSend, splitVersion, versionText } from './encoding.ts'
import { confirmedValuesAt, runIf, valuesAt, type Conditional, type Engine } from './engine.ts'
import { inCalls, type Partition } from './partitions.ts'
import { idsLeft } from './payloads.ts'
import { FOREIGN, VERSION_DIGITS } from './scripts.ts'
import {
  changeMore,
  commandsOf,
  indexRemoval,
  letterRemoval,
  payloadKey,
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
  const { partitions, retention } = engine
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

  /** Decodes records, and replaces those that cannot be read. */
  async function recordsIn(stored: readonly Stored[]): Promise<ReadonlyMap<string, Versioned>> {
    const records = new Map<string, Versioned>()
    for (const one of stored) {
      const decoded = decode(one)
      const found = isUnreadable(decoded.record) ? await replaced(one) : decoded
      if (found !== undefined) records.set(one.key, found)
    }
    return records
  }

  /**
   * Replaces a record that cannot be read, and what the indexes say of it, if it is still the one that was read (`expected`): another
   * process may have replaced it meanwhile. Undefined if there is no record any more.
   */
  async function replaced(
    stored: Stored,
    expected = stored.record?.toString('latin1', 0, VERSION_DIGITS) ?? '',
  ): Promise<Versioned | undefined> {
    const { key } = stored
    const isGone = expected === ''
    const ids = isGone ? [] : await idsLeft(engine, key)
    const [version, after] = [nextVersion(), unreadableRecord(key)]
    const expiring = ids.filter((id) => id !== key)
    const cleared: readonly Command[] = [
      ...indexRemoval(key),
      ['UNLINK', sendKey(key)],
      ...changeMore('SREM', key, ids),
      ...ids.flatMap(letterRemoval),
      ...expiring.map((id) => ['PEXPIRE', payloadKey(key, id), String(Math.ceil(retention.payloadMs))] as const),
    ]
    const change = { key, expected: undefined, before: undefined, after, payloads: [], admitted: [] }
    const written = isGone ? [] : commandsOf(change, version, retention)
    const conditional = { key: recordKey(key), expected, commands: [...cleared, ...written] }
    const [found] = (await runIf(engine, partitions.of(key), [conditional], { fits: true })).found
    if (found === FOREIGN && expected !== FOREIGN) return replaced(stored, FOREIGN)
    return isGone || found !== expected ? undefined : { version, record: after }
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
      if (found[at] === FOREIGN) await replaced({ key, record: undefined, send: undefined }, FOREIGN)
    return writing.map(({ version, conditional: { expected } }, at) =>
      // The server has the new version already if the command was sent again after a lost response.
      found[at] === expected || found[at] === versionText(version) ? version : undefined,
    )
  }

  return {
    recordsIn,
    read: async (keys: readonly string[]) =>
      recordsIn((await storedAt(keys, confirmedValuesAt)).filter(({ record }) => record !== undefined)),
    /** Reads records for scans: writes nothing. */
    async look(keys: readonly string[]): Promise<ReadonlyMap<string, MessageRecord>> {
      const stored = await storedAt([...new Set(keys)], valuesAt)
      return new Map(stored.filter(({ record }) => record !== undefined).map((one) => [one.key, decode(one).record]))
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

function decode({ key, record, send }: Stored): Versioned {
  const { version, state } = splitVersion(record)
  return { version, record: storedRecord({ state, ...splitSend(send) }, key) }
}

function sizeOf({ admitted }: VersionedChange): number {
  return admitted.reduce((sum, { raw }) => sum + raw.length, 0)
}
