/**
 * A fixed number of partitions, each with its own hash tag. A record and its payloads are in one partition, so a script finds all its keys in one slot of a cluster. In a cluster with more masters than partitions, some masters stay idle.
 */
import { createHash } from 'node:crypto'

const TAG_DIGITS = 12
/**
 * Limits of one call: about a millisecond of the server's time, so that other users of the server do not notice. Bodies may be
 * large.
 */
const MOST_ITEMS = 64
const MOST_BYTES = 1_048_576

export interface Partition {
  /** The prefix of the keys in the partition, ending with a colon. */
  readonly base: string
  readonly group: number
}

/**
 * Partitions that one script may use: all on a single server, one in a cluster. Each group is on one server, with one clock.
 */
export type Group = readonly [Partition, ...Partition[]]

export type Partitions = ReturnType<typeof createPartitions>

/** Tags are digests, so neither the prefix nor an id determines the slot. */
export function createPartitions(prefix: string, count: number, isCluster: boolean) {
  function partition(index: number): Partition {
    const tag = createHash('sha256').update(`${prefix}:${index}`).digest('hex').slice(0, TAG_DIGITS)
    return { base: `${prefix}:{${tag}}:`, group: isCluster ? index : 0 }
  }
  const all: Group = [partition(0), ...Array.from({ length: count - 1 }, (_, at) => partition(at + 1))]
  return {
    all,
    groups: isCluster ? all.map((one): Group => [one]) : [all],
    /** The partition of a record. */
    of: (recordKey: string): Partition => all[scattered(recordKey) % all.length] ?? all[0],
  }
}

/** FNV-1a: record keys are digests already, and this runs for every event. */
function scattered(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** An item with its index among all items and its partition. */
export interface Placed<T> {
  readonly item: T
  readonly index: number
  readonly partition: Partition
}

/**
 * Runs calls for all items and returns the answers in order. Items of one group share a call, because a call costs the server
 * more than most of its work. `run` returns one answer per item of a call. `sizeOf`: bytes of an item beyond the fixed part.
 */
export async function inCalls<T extends { readonly key: string }, R>(
  items: readonly T[],
  partitions: Partitions,
  run: (placed: readonly Placed<T>[]) => Promise<readonly R[]>,
  sizeOf: (item: T) => number = () => 0,
): Promise<readonly (R | undefined)[]> {
  const calls: Placed<T>[][] = []
  const open = new Map<number, { readonly call: Placed<T>[]; bytes: number }>()
  for (const [index, item] of items.entries()) {
    const partition = partitions.of(item.key)
    const bytes = sizeOf(item)
    let last = open.get(partition.group)
    if (last === undefined || last.call.length === MOST_ITEMS || last.bytes + bytes > MOST_BYTES) {
      last = { call: [], bytes: 0 }
      calls.push(last.call)
      open.set(partition.group, last)
    }
    last.call.push({ item, index, partition })
    last.bytes += bytes
  }
  const answers: (R | undefined)[] = items.map(() => undefined)
  await Promise.all(
    calls.map(async (call) => {
      const found = await run(call)
      for (const [place, { index }] of call.entries()) answers[index] = found[place]
    }),
  )
  return answers
}
