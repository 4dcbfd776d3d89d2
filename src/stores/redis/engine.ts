/** What all parts of the store share: the scripts, the partitions, whose clock counts, and how records are written. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump } from '../../inbox/record-store.ts'
import { createStoreClock, type StoreClock } from '../../inbox/runtime/store-time.ts'
import type { Retention } from '../../messages/expire.ts'
import type { Reply } from './clients/connection.ts'
import type { Group, Partition, Partitions } from './partitions.ts'
import { bytes, integer, list, scored, type Scored } from './replies.ts'
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

/** The `due` sets, which are the keys of all scripts. */
export function keysOf([first, ...others]: Group): readonly [string, ...string[]] {
  return [`${first.base}due`, ...others.map(({ base }) => `${base}due`)]
}

/**
 * Runs commands whose key still has the expected version, all of one or none; answers the server's time and the versions that were found.
 * They are of one group. Rejects with a `ClockJump` where the server's time is not `asOfMs`. `fits`: may be written although memory is full.
 */
export async function runIf(
  { redis, times }: Pick<Engine, 'redis' | 'times'>,
  conditionals: readonly Conditional[],
  { asOfMs, fits }: { readonly asOfMs?: number | undefined; readonly fits: boolean },
): Promise<{ readonly nowMs: number; readonly found: readonly string[] }> {
  const [first] = conditionals
  if (first === undefined) throw new TypeError('There is nothing to run.')
  const partitions: [Partition, ...Partition[]] = [first.partition]
  const values: (string | Buffer | number)[] = []
  for (const { partition, key, expected, commands } of conditionals) {
    if (!partitions.includes(partition)) partitions.push(partition)
    const count = commands.reduce((sum, command) => sum + command.length + 1, 0)
    values.push(partitions.indexOf(partition) + 1, key, Buffer.from(expected, 'latin1'), count)
    for (const command of commands) values.push(command.length, ...command)
  }
  const { group } = first.partition
  const serverAsOfMs = asOfMs === undefined ? undefined : times?.toServer(group, asOfMs)
  const sentMs = monotonicMs()
  const [now, ...found] = list(
    await redis.run(compareAndSet, keysOf(partitions), [
      serverAsOfMs === undefined ? '' : Math.round(serverAsOfMs),
      fits ? 1 : 0,
      ...values,
    ]),
  )
  const serverMs = integer(now)
  times?.heard(group, serverMs, sentMs)
  if (serverAsOfMs !== undefined && Math.abs(serverMs - Math.round(serverAsOfMs)) > MOST_APART_MS) throw new ClockJump()
  return { nowMs: serverMs, found: found.map((version) => bytes(version).toString('latin1')) }
}

/** Reads the server's clock. */
export async function hearTime(engine: Pick<Engine, 'redis' | 'times'>, [home]: Group): Promise<number> {
  const nothing = { partition: home, key: 'none', expected: 'none', commands: [] }
  return (await runIf(engine, [nothing], { fits: true })).nowMs
}

/** Asks the server of a partition. */
export function ask(
  { redis }: Pick<Engine, 'redis'>,
  { base }: Partition,
  [name, key, ...rest]: Command,
): Promise<Reply> {
  return redis.send(`${base}${key}`, [name, `${base}${key}`, ...rest])
}

/** Members of a sorted set of a partition, by score. Bounds are as Redis writes them: `(` before one that is left out. */
export async function membersOf(
  engine: Pick<Engine, 'redis'>,
  partition: Partition,
  range: {
    readonly set: string
    readonly least?: string
    readonly most?: string
    readonly limit: number
    readonly newestFirst?: boolean
  },
): Promise<readonly Scored[]> {
  const { set, least = '-inf', most = '+inf', limit, newestFirst = false } = range
  const [name, ...bounds] = newestFirst
    ? (['ZREVRANGEBYSCORE', most, least] as const)
    : (['ZRANGEBYSCORE', least, most] as const)
  return scored(await ask(engine, partition, [name, set, ...bounds, 'WITHSCORES', 'LIMIT', '0', String(limit)]))
}

/** The values of keys, some at a time; null for what is not there or is no text. They are of one group. */
export async function valuesAt(
  { redis }: Pick<Engine, 'redis'>,
  keys: readonly string[],
): Promise<readonly (Buffer | undefined)[]> {
  const [first] = keys
  if (first === undefined) return []
  const values = list(await redis.send(first, ['MGET', ...keys]))
  return values.map((value) => (Buffer.isBuffer(value) ? value : undefined))
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
