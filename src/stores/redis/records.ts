/** Reads records from Redis, and writes them if no one has changed them. */
import type { MessageRecord } from '../../messages/record.ts'
import type { Versioned, VersionedChange } from '../engine.ts'
import { admittedIn, storedRecord, UnreadableRecord } from '../stored.ts'
import { splitSend, splitVersion } from './encoding.ts'
import { confirmedValuesAt, runIf, valuesAt, type Conditional, type Engine } from './engine.ts'
import { inCalls, type Partition } from './partitions.ts'
import { FOREIGN } from './scripts.ts'
import { commandsOf, recordKey, sendKey } from './writing.ts'

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
    const conditionals = changes.map((change): Conditional => {
      return { key: recordKey(change.key), expected: change.expected ?? '', commands: commandsOf(change, retention) }
    })
    const fits = changes.every((change) => change.before !== undefined && admittedIn(change).length === 0)
    const { found } = await runIf(engine, partition, conditionals, { asOfMs, fits })
    return changes.map(({ key, expected = '', version }, at) => {
      if (found[at] === FOREIGN) throw new UnreadableRecord(key)
      // The server has the new version already if the command was sent again after a lost response.
      return found[at] === expected || found[at] === version
    })
  }

  return {
    /** Rejects with an `UnreadableRecord`. */
    async read(keys: readonly string[]): Promise<ReadonlyMap<string, Versioned>> {
      const stored = await storedAt(keys, confirmedValuesAt)
      return new Map(
        stored.flatMap((one) => {
          if (one.record === undefined) return []
          const versioned = versionedIn(one)
          if (versioned === undefined) throw new UnreadableRecord(one.key)
          return [[one.key, versioned] as const]
        }),
      )
    },
    /** Reads records for scans, and leaves out unreadable ones. */
    async look(keys: readonly string[]): Promise<ReadonlyMap<string, MessageRecord>> {
      const stored = await storedAt([...new Set(keys)], valuesAt)
      return new Map(
        stored.flatMap((one) => {
          const versioned = versionedIn(one)
          return versioned === undefined ? [] : [[one.key, versioned.record] as const]
        }),
      )
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

/** Undefined if there is none, or it is unreadable. */
export function versionedIn({ record: stored, send }: Stored): Versioned | undefined {
  if (stored === undefined) return undefined
  const { version, state } = splitVersion(stored)
  const record = storedRecord({ state, ...splitSend(send) })
  return record && { version, record }
}

function bytesOf(change: VersionedChange): number {
  return admittedIn(change).reduce((sum, { event }) => sum + event.raw.length, 0)
}
