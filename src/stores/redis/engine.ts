/** What all parts of the store share: the scripts, the partitions, whose clock counts, and how records are written. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump } from '../../inbox/record-store.ts'
import { createStoreClock, type StoreClock } from '../../inbox/runtime/store-time.ts'
import type { Retention } from '../../messages/expire.ts'
import type { Reply } from './clients/connection.ts'
import type { Group, Partition, Partitions } from './partitions.ts'
import { bytes, bytesOrNone, integer, list } from './replies.ts'
import type { Scripted } from './scripted.ts'
import { compareAndSet, MOST_APART_MS } from './scripts.ts'
import type { Command } from './writing.ts'

export interface Engine {
  readonly redis: Scripted
  readonly partitions: Partitions
  readonly retention: Retention
  /** Undefined where the callers' clocks count. */
  readonly times: ReturnType<typeof createServerTimes> | undefined
  readonly report: (error: MessagingWebhooksError) => void
}

/** Commands that are run if a key has this version. */
export interface Conditional {
  readonly partition: Partition
  readonly key: string
  /** Empty: if there is no such key. As latin1, for it may be anything where the key is corrupt. */
  readonly expected: string
  readonly commands: readonly Command[]
}

/** The `due` sets of partitions: scripts make all other keys from their beginnings. */
export function keysOf(partitions: readonly Partition[]): readonly string[] {
  return partitions.map(({ base }) => `${base}due`)
}

/**
 * Runs commands whose key still has the expected version, all of one or none; answers the server's time and the versions that were found.
 * They are of one group. Rejects with a `ClockJump` where the server's time is not `asOfMs`. `fits`: may be written although memory is full.
 */
export async function runIf(
  { redis, times }: Engine,
  conditionals: readonly Conditional[],
  { asOfMs, fits }: { readonly asOfMs?: number | undefined; readonly fits: boolean },
): Promise<{ readonly nowMs: number; readonly found: readonly string[] }> {
  const group = conditionals[0]?.partition.group ?? 0
  const serverAsOfMs = asOfMs === undefined ? undefined : times?.toServer(group, asOfMs)
  const args: (string | Buffer | number)[] = [serverAsOfMs === undefined ? '' : Math.round(serverAsOfMs), fits ? 1 : 0]
  for (const { expected, commands } of conditionals) {
    const count = commands.reduce((sum, command) => sum + command.length + 1, 0)
    args.push(Buffer.from(expected, 'latin1'), count)
    for (const command of commands) args.push(command.length, ...command)
  }
  const keys = conditionals.map(({ partition, key }) => partition.base + key)
  const sentMs = monotonicMs()
  const [now, ...found] = list(await redis.run(compareAndSet, keys, args))
  const serverMs = integer(now)
  times?.heard(group, serverMs, sentMs)
  if (serverAsOfMs !== undefined && Math.abs(serverMs - Math.round(serverAsOfMs)) > MOST_APART_MS) throw new ClockJump()
  return { nowMs: serverMs, found: found.map((version) => bytes(version).toString('latin1')) }
}

/** Reads the server's clock. */
export async function hearTime(engine: Engine, [home]: Group): Promise<number> {
  const nothing = { partition: home, key: 'none', expected: 'none', commands: [] }
  return (await runIf(engine, [nothing], { fits: true })).nowMs
}

/** Asks the server of a partition. */
export function ask({ redis }: Engine, { base }: Partition, [name, key, ...rest]: Command): Promise<Reply> {
  return redis.send(`${base}${key}`, [name, `${base}${key}`, ...rest])
}

/** The values of keys of one group; undefined for what is not there or is no text. */
export async function valuesAt(redis: Scripted, keys: readonly string[]): Promise<readonly (Buffer | undefined)[]> {
  if (keys.length === 0) return []
  const values = list(await redis.send(keys[0], ['MGET', ...keys]))
  return values.map(bytesOrNone)
}

/**
 * The store's time where the servers' clocks count. Each server of a cluster has a clock of its own; the time of all records is that of
 * the first server, and what a script compares with its server's clock is translated. A process that did not hear the first server yet
 * goes by another one: its time jumps by the difference of their clocks later, which the guide says. To keep each record in its own
 * server's time, every time in it would have to be translated by an estimate with each reading and each writing.
 */
export function createServerTimes() {
  const clocks = new Map<number, StoreClock>()
  /** Of the groups that were heard, the first. */
  let referenceGroup = Infinity
  const reference = (): StoreClock | undefined => clocks.get(referenceGroup)

  return {
    /** The time of the store. */
    nowMs: () => reference()?.nowMs() ?? Number.NEGATIVE_INFINITY,
    /** A time of the store by the clock of a group's server; undefined until that was heard. */
    toServer(group: number, storeMs: number): number | undefined {
      const [own, first] = [clocks.get(group), reference()]
      return own === undefined || first === undefined ? undefined : storeMs + own.nowMs() - first.nowMs()
    },
    /** The server of a group said that it was so late, in an answer to what was sent then (by `monotonicMs`). */
    heard(group: number, serverMs: number, sentMs: number): void {
      const clock = clocks.get(group) ?? createStoreClock()
      clocks.set(group, clock)
      referenceGroup = Math.min(referenceGroup, group)
      clock.heard(serverMs, sentMs)
    },
  }
}
