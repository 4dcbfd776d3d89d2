/**
 * A fixed number of partitions, each with its own hash tag and therefore on one server of a cluster, with one clock. A record and
 * its payloads are in one partition, so a script finds all its keys in one slot. In a cluster with more masters than partitions,
 * some masters stay idle.
 */
import { createHash } from 'node:crypto'

const TAG_DIGITS = 12
/**
 * Limits of one call: about a millisecond of the server's time, so that other users of the server do not notice. Bodies may be
 * large.
 */
const MAX_ITEMS = 64
const MAX_BYTES = 1_048_576

export interface Partition {
  /** The prefix of the keys in the partition, ending with a colon. */
  readonly base: string
  readonly index: number
}

export type Partitions = ReturnType<typeof createPartitions>

/** Tags are digests, so neither the prefix nor an id determines the slot. */
export function createPartitions(prefix: string, count: number) {
  function partition(index: number): Partition {
    const tag = createHash('sha256').update(`${prefix}:${index}`).digest('hex').slice(0, TAG_DIGITS)
    return { base: `${prefix}:{${tag}}:`, index }
  }
  const home = partition(0)
  const all = [home, ...Array.from({ length: count - 1 }, (_, at) => partition(at + 1))]
  return {
    /** The first partition holds what concerns all. */
    home,
    all,
    /** The partition of a record. */
    of: (recordKey: string): Partition => all[scattered(recordKey) % count] ?? home,
  }
}

/** FNV-1a: record keys are digests already, and this runs for every event. */
function scattered(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/**
 * Runs calls for all items and returns the answers in order. Items of one partition share a call, because a call costs the server
 * more than most of its work. `run` returns one answer per item of a call. `sizeOf`: bytes of an item beyond the fixed part.
 */
export async function inCalls<T extends { readonly key: string }, R>(
  items: readonly T[],
  partitions: Partitions,
  run: (partition: Partition, items: readonly T[]) => Promise<readonly R[]>,
  sizeOf: (item: T) => number = () => 0,
): Promise<readonly (R | undefined)[]> {
  /** `indexes`: of each item of the call among all items. */
  const calls: { readonly partition: Partition; readonly items: T[]; readonly indexes: number[]; bytes: number }[] = []
  const open = new Map<Partition, (typeof calls)[number]>()
  for (const [index, item] of items.entries()) {
    const partition = partitions.of(item.key)
    const bytes = sizeOf(item)
    let call = open.get(partition)
    if (call === undefined || call.items.length === MAX_ITEMS || call.bytes + bytes > MAX_BYTES) {
      call = { partition, items: [], indexes: [], bytes: 0 }
      calls.push(call)
      open.set(partition, call)
    }
    call.items.push(item)
    call.indexes.push(index)
    call.bytes += bytes
  }
  const answers: (R | undefined)[] = items.map(() => undefined)
  await Promise.all(
    calls.map(async ({ partition, items: some, indexes }) => {
      const found = await run(partition, some)
      for (const [place, index] of indexes.entries()) answers[index] = found[place]
    }),
  )
  return answers
}
