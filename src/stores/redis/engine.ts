/** The common base of the store: scripts, partitions, the clocks of the servers, and conditional writes. */
import { monotonicMs } from '../../runtime/clock.ts'
import { MessagingWebhooksError } from '../../public/errors.ts'
import type { Retention } from '../../messages/commands.ts'
import { createServerClock, isApart, type ServerClock } from '../server-time.ts'
import type { Reply } from './clients/connection.ts'
import type { Partition, Partitions } from './partitions.ts'
import { bytes, bytesOrNone, integer, list } from './replies.ts'
import type { Scripted } from './scripted.ts'
import { compareAndSet, readWaited } from './scripts.ts'
import { gathered, type Command } from './writing.ts'

export interface Engine {
  readonly redis: Scripted
  readonly partitions: Partitions
  readonly retention: Retention
  readonly times: ReturnType<typeof createServerTimes>
  readonly report: (error: MessagingWebhooksError) => void
}

/** Commands to run if a key has this version. */
export interface Conditional {
  readonly key: string
  /** Empty if the key must not exist. Latin-1, because a corrupt key may contain anything. */
  readonly expected: string
  /** Run before the writes of all changes. */
  readonly first?: readonly Command[]
  /** Run in the order of `gathered`. */
  readonly writes: readonly Command[]
}

const NONE: readonly never[] = []
/** What this package writes. A client sends a text at less cost than bytes. */
const VERSION = /^[\w-]*$/

/** With full memory, Redis refuses the first write of a script, and no later one. It allows this one. */
const FITS: Command = ['UNLINK', 'none']
/** `WAIT` knows only the writes of its own connection. */
const WAITED: Command = ['SET', 'waited', '', 'PX', '1000']

interface RunOptions {
  readonly asOfMs?: number | undefined
  /** Allow the write although memory is full. */
  readonly fits: boolean
}

/**
 * Runs the commands of each change with the expected version of its key, all of a change or none. Returns the server's time and
 * the versions found: none, and nothing was run, if the server's time is not `asOfMs`.
 */
export async function runIf(
  engine: Engine,
  partition: Partition,
  conditionals: readonly Conditional[],
  options: RunOptions,
): Promise<{ readonly nowMs: number; readonly found: readonly string[] }> {
  const { nowMs, found } = await runIfAll(engine, partition, conditionals, options)
  const isExpected = (at: number): boolean => found[at] === conditionals[at]?.expected
  const others = conditionals.filter((_, at) => isExpected(at))
  if (others.length === 0 || others.length === conditionals.length) return { nowMs, found }
  // One that was changed meanwhile has stopped all.
  const again = await runIf(engine, partition, others, options)
  if (again.found.length === 0) return again
  const versions = again.found.values()
  return { ...again, found: found.map((version, at) => (isExpected(at) ? (versions.next().value ?? '') : version)) }
}

/** Runs the commands of all changes, or none. */
async function runIfAll(
  { redis, times }: Engine,
  { base, index }: Partition,
  conditionals: readonly Conditional[],
  { asOfMs, fits }: RunOptions,
): Promise<{ readonly nowMs: number; readonly found: readonly string[] }> {
  const serverAsOfMs = asOfMs === undefined ? undefined : times.toServer(index, asOfMs)
  const commands = gathered(conditionals)
  const replicas = commands.length > 0 ? redis.replicas : undefined
  const args: (string | Buffer | number)[] = [serverAsOfMs === undefined ? '' : Math.round(serverAsOfMs), 0]
  args[1] = addCommands(args, [...(fits ? [FITS] : []), ...(replicas === undefined ? [] : [WAITED])])
  for (const { expected } of conditionals)
    args.push(VERSION.test(expected) ? expected : Buffer.from(expected, 'latin1'))
  addCommands(args, commands)
  const [firstKey = '', ...otherKeys] = conditionals.map(({ key }) => base + key)
  const sentMs = monotonicMs()
  const [now, ...found] = list(
    await (replicas === undefined
      ? redis.run(compareAndSet, [firstKey, ...otherKeys], args)
      : redis.runConfirmed(compareAndSet, [firstKey, ...otherKeys], args, replicas)),
  )
  const serverMs = integer(now)
  times.note(index, serverMs, sentMs)
  if (serverAsOfMs !== undefined && isApart(serverMs, serverAsOfMs)) return { nowMs: serverMs, found: [] }
  return { nowMs: serverMs, found: found.map((version) => bytes(version).toString('latin1')) }
}

/** Adds each command with the number of its values. Returns the number of values added. */
function addCommands(args: (string | Buffer | number)[], commands: readonly Command[]): number {
  const before = args.length
  for (const command of commands) args.push(command.length, ...command)
  return args.length - before
}

export async function readTime(engine: Engine, partition: Partition): Promise<number> {
  const nothing = { key: 'none', expected: 'none', writes: NONE }
  return (await runIf(engine, partition, [nothing], { fits: true })).nowMs
}

/** Sends a command to the server of a partition. */
export function ask({ redis }: Engine, { base }: Partition, [name, key, ...rest]: Command): Promise<Reply> {
  return redis.send(`${base}${key}`, [name, `${base}${key}`, ...rest])
}

/** The values of keys of one partition. Undefined if missing or not text. */
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
 * The store's time. Each server of a cluster has its own clock. Records use the time of the
 * first server; times that a script compares with its server's clock are translated. A process without an answer of the first
 * server uses another server until then, so its time later jumps by their difference, as the guide says. Records in the time of
 * their own server would require a translation of every time at each read and write.
 */
export function createServerTimes() {
  const clocks = new Map<number, ServerClock>()
  /** The first partition that has answered. */
  let referenceIndex = Infinity
  const reference = (): ServerClock | undefined => clocks.get(referenceIndex)

  return {
    nowMs: () => reference()?.nowMs() ?? Number.NEGATIVE_INFINITY,
    /** Converts a store time to the clock of a partition's server. Undefined until that server has answered. */
    toServer(index: number, storeMs: number): number | undefined {
      const [own, first] = [clocks.get(index), reference()]
      return own === undefined || first === undefined ? undefined : storeMs + own.nowMs() - first.nowMs()
    },
    /** Records the time that a partition's server reported, in answer to a request sent at `sentMs` (by `monotonicMs`). */
    note(index: number, serverMs: number, sentMs: number): void {
      const clock = clocks.get(index) ?? createServerClock()
      clocks.set(index, clock)
      referenceIndex = Math.min(referenceIndex, index)
      clock.note(serverMs, sentMs)
    },
  }
}
