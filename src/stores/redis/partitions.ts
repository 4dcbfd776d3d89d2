/**
 * A fixed number of partitions, each with a hash tag of its own: what belongs to a message is in one of them, and so is the
 * index of what is due there, so that a script finds all it needs in one slot of a cluster. More masters than partitions
 * would leave some without work.
 */
import { createHash } from 'node:crypto'

const TAG_BYTES = 6

export interface Partitions {
  /** The due set of each partition, by which scripts know it. */
  readonly dueKeys: readonly string[]
  dueKeyOf(messageKey: string): string
  /** The same in groups that one script may be given: all at once where there are no slots. */
  readonly groups: readonly (readonly [string, ...string[]])[]
}

/** Tags are digests: what a prefix or an id holds decides over no slot. */
export function createPartitions(prefix: string, count: number, isCluster: boolean): Partitions {
  const [first, ...others] = Array.from({ length: Math.max(1, count) }, (_, index) => dueKey(prefix, index))
  const all: readonly [string, ...string[]] = [first ?? dueKey(prefix, 0), ...others]
  return {
    dueKeys: all,
    dueKeyOf: (messageKey) => all[digest(messageKey).readUInt32BE(0) % all.length] ?? all[0],
    groups: isCluster ? all.map((key): readonly [string] => [key]) : [all],
  }
}

function dueKey(prefix: string, index: number): string {
  return `${prefix}:{${digest(`${prefix}:${index}`).toString('hex', 0, TAG_BYTES)}}:due`
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
