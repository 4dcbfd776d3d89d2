/** The common base of the store: scripts, partitions, the choice of clock, and conditional writes. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import { ClockJump, type PendingLook } from '../../inbox/record-store.ts'
import { createStoreClock, type StoreClock } from '../../inbox/runtime/store-time.ts'
import type { Retention } from '../../messages/expire.ts'
import type { Reply } from './clients/connection.ts'
import type { Group, Partition, Partitions } from './partitions.ts'
import { bytes, bytesOrNone, integer, list, text } from './replies.ts'
import type { Scripted } from './scripted.ts'
import { compareAndSet, MOST_APART_MS, readWaited } from './scripts.ts'
import type { Command } from './writing.ts'

export interface Engine {
  readonly redis: Scripted
  readonly partitions: Partitions
  readonly retention: Retention
  /** Undefined if the clocks of the callers apply. */
  readonly times: ReturnType<typeof createServerTimes> | undefined
  readonly report: (error: MessagingWebhooksError) => void
}

/** The set of pending sends in the first partition; see `pending.ts`. */
export const PENDING = 'pending'

/** Commands to run if a key has this version. */
export interface Conditional {
  readonly partition: Partition
  readonly key: string
  /** Empty if the key must not exist. Latin-1, because a corrupt key may contain anything. */
  readonly expected: string
  readonly commands: readonly Command[]
}

interface RunOptions {
  readonly asOfMs?: number | undefined
  readonly fits: boolean
  /** Looks up pending sends too, if the first partition is in the same group. */
  readonly pending?: PendingLook | undefined
}

/** The `due` sets of partitions. Scripts derive all other keys from their prefixes. */
export function keysOf(partitions: readonly Partition[]): readonly string[] {
  return partitions.map(({ base }) => `${base}due`)
}

/**
 * Runs the commands of each change with the expected version of its key, all of a change or none. Returns the server's time and
 * the versions found. All changes belong to one group. Rejects with a `ClockJump` if the server's time is not `asOfMs`. `fits`:
 * allow the write although memory is full.
 */
export async function runIf(
  { redis, times, partitions: { all } }: Engine,
  conditionals: readonly Conditional[],
  { asOfMs, fits, pending }: RunOptions,
): Promise<{ readonly nowMs: number; readonly found: readonly string[] }> {
  const group = conditionals[0]?.partition.group ?? 0
  const serverAsOfMs = asOfMs === undefined ? undefined : times?.toServer(group, asOfMs)
  const isWrite = conditionals.some(({ commands }) => commands.length > 0)
  const replicas = isWrite ? redis.replicas : undefined
  const [home] = all
  const look = home.group === group ? pending : undefined
  const args: (string | Buffer | number)[] = [
    serverAsOfMs === undefined ? '' : Math.round(serverAsOfMs),
    fits ? 1 : 0,
    look === undefined ? '' : Math.floor(look.afterMs),
    replicas === undefined ? 0 : 1,
  ]
  for (const { expected, commands } of conditionals) {
    const count = commands.reduce((sum, command) => sum + command.length + 1, 0)
    args.push(Buffer.from(expected, 'latin1'), count)
    for (const command of commands) args.push(command.length, ...command)
  }
  const [firstKey = '', ...otherKeys] = conditionals.map(({ partition, key }) => partition.base + key)
  const keys: [string, ...string[]] = [firstKey, ...otherKeys]
  if (look !== undefined) keys.push(home.base + PENDING)
  const sentMs = monotonicMs()
  const [now, since, ...found] = list(
    await (replicas === undefined
      ? redis.run(compareAndSet, keys, args)
      : redis.runConfirmed(compareAndSet, keys, args, replicas)),
  )
  look?.onAnswer(text(since) === '' ? undefined : integer(since))
  const serverMs = integer(now)
  times?.note(group, serverMs, sentMs)
  if (serverAsOfMs !== undefined && Math.abs(serverMs - Math.round(serverAsOfMs)) > MOST_APART_MS) throw new ClockJump()
  return { nowMs: serverMs, found: found.map((version) => bytes(version).toString('latin1')) }
}

export async function readTime(engine: Engine, [home]: Group): Promise<number> {
  const nothing = { partition: home, key: 'none', expected: 'none', commands: [] }
  return (await runIf(engine, [nothing], { fits: true })).nowMs
}

/** Sends a command to the server of a partition. */
export function ask({ redis }: Engine, { base }: Partition, [name, key, ...rest]: Command): Promise<Reply> {
  return redis.send(`${base}${key}`, [name, `${base}${key}`, ...rest])
}

/** The values of keys of one group. Undefined if missing or not text. */
export async function valuesAt(redis: Scripted, keys: readonly string[]): Promise<readonly (Buffer | undefined)[]> {
  if (keys.length === 0) return []
  const values = list(await redis.send(keys[0], ['MGET', ...keys]))
  return values.map(bytesOrNone)
}

/**
 * Like `valuesAt`, for decisions: a duplicate is answered from these values, so the replicas must have them. Another process may
 * have written a value without waiting for the replicas.
 */
export async function confirmedValuesAt(
  redis: Scripted,
  keys: readonly string[],
): Promise<readonly (Buffer | undefined)[]> {
  const [first, ...others] = keys
  if (redis.replicas === undefined || first === undefined) return valuesAt(redis, keys)
  return list(await redis.runConfirmed(readWaited, [first, ...others], [], redis.replicas)).map(bytesOrNone)
}

/**
 * The store's time, if the clocks of the servers apply. Each server of a cluster has its own clock. Records use the time of the
 * first server; times that a script compares with its server's clock are translated. A process without an answer of the first
 * server uses another server until then, so its time later jumps by their difference, as the guide says. Records in the time of
 * their own server would require a translation of every time at each read and write.
 */
export function createServerTimes() {
  const clocks = new Map<number, StoreClock>()
  /** The first group that has answered. */
  let referenceGroup = Infinity
  const reference = (): StoreClock | undefined => clocks.get(referenceGroup)

  return {
    nowMs: () => reference()?.nowMs() ?? Number.NEGATIVE_INFINITY,
    /** Converts a store time to the clock of a group's server. Undefined until that server has answered. */
    toServer(group: number, storeMs: number): number | undefined {
      const [own, first] = [clocks.get(group), reference()]
      return own === undefined || first === undefined ? undefined : storeMs + own.nowMs() - first.nowMs()
    },
    /** Records the time that a group's server reported, in answer to a request sent at `sentMs` (by `monotonicMs`). */
    note(group: number, serverMs: number, sentMs: number): void {
      const clock = clocks.get(group) ?? createStoreClock()
      clocks.set(group, clock)
      referenceGroup = Math.min(referenceGroup, group)
      clock.note(serverMs, sentMs)
    },
  }
}
