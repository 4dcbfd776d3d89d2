/** Reads records from Redis, and writes them if no one has changed them. */
import type { MessageRecord } from '../../messages/record.ts'
import { isUnreadable, unreadableRecord } from '../../messages/replay.ts'
import type { Versioned, VersionedChange } from '../engine.ts'
import { admittedIn, storedRecord } from '../stored.ts'
import { splitSend, splitVersion } from './encoding.ts'
import { confirmedValuesAt, runIf, valuesAt, type Conditional, type Engine } from './engine.ts'
import { inCalls, type Partition } from './partitions.ts'
import { idsLeft } from './payloads.ts'
import { commandsOf, recordKey, removalOf, sendKey, type Command } from './writing.ts'

/** The raw values of a record's keys. */
export interface Stored {
  readonly key: string
  readonly record: Buffer | undefined
  readonly send: Buffer | undefined
}

export type Records = ReturnType<typeof createRecords>

export function createRecords(engine: Engine) {
  const { partitions, retention } = engine

  async function storedAt(keys: readonly string[], valuesOf: typeof valuesAt): Promise<readonly Stored[]> {
    const places = keys.map((key) => ({ key }))
    const found = await inCalls(places, partitions, async ({ base }, some) => {
      const names = some.flatMap(({ key }) => [base + recordKey(key), base + sendKey(key)])
      const values = await valuesOf(engine.redis, names)
      return some.map(({ key }, at) => ({ key, record: values[2 * at], send: values[2 * at + 1] }))
    })
    return found.flatMap((stored) => stored ?? [])
  }

  async function writeCall(
    partition: Partition,
    changes: readonly VersionedChange[],
    asOfMs: number,
  ): Promise<readonly boolean[]> {
    const conditionals = await Promise.all(
      changes.map(async (change): Promise<Conditional> => {
        const replaced = isUnreadable(change.before) ? await removalOfUnreadable(change.key) : []
        const writes = commandsOf(change, retention, asOfMs)
        return { key: recordKey(change.key), expected: change.expected ?? '', first: replaced, writes }
      }),
    )
    const fits = changes.every((change) => change.before !== undefined && admittedIn(change).length === 0)
    const { found } = await runIf(engine, partition, conditionals, { asOfMs, fits })
    // The server has the new version already if the command was sent again after a lost response.
    return changes.map(({ expected = '', version }, at) => found[at] === expected || found[at] === version)
  }

  /** Removes the index entries of a record that does not say which it has. */
  async function removalOfUnreadable(key: string): Promise<readonly Command[]> {
    return removalOf(key, await idsLeft(engine, key), retention)
  }

  return {
    async read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned>> {
      const stored = (await storedAt(keys, confirmedValuesAt)).filter(({ record }) => record !== undefined)
      return new Map(stored.map((one) => [one.key, versionedIn(one)]))
    },
    /** Reads records for scans. */
    async look(keys: readonly string[]): Promise<ReadonlyMap<string, MessageRecord>> {
      const stored = (await storedAt([...new Set(keys)], valuesAt)).filter(({ record }) => record !== undefined)
      return new Map(stored.map((one) => [one.key, versionedIn(one).record]))
    },
    async write(changes: readonly VersionedChange[], asOfMs: number): Promise<readonly boolean[]> {
      const applied = await inCalls(
        changes,
        partitions,
        (partition, some) => writeCall(partition, some, asOfMs),
        bytesOf,
      )
      return applied.map((isApplied) => isApplied === true)
    },
  }
}

/** A record that a queue names and that is lost, or not text, counts as unreadable. */
export function versionedIn({ key, record, send }: Stored): Versioned {
  if (record === undefined) return { version: '', record: unreadableRecord(key) }
  const { version, state } = splitVersion(record)
  return { version, record: storedRecord({ state, ...splitSend(send) }, key) }
}

function bytesOf(change: VersionedChange): number {
  return admittedIn(change).reduce((sum, { event }) => sum + event.raw.length, 0)
}
