/**
 * A fixed number of partitions, each with a hash tag of its own: what belongs to a message is in one of them, and so is the
 * index of what is due there, so that a script finds all it needs in one slot of a cluster. More masters than partitions
 * would leave some without work.
 */
import { createHash } from 'node:crypto'

const TAG_DIGITS = 12

export interface Partitions {
  /** The due set of each partition, by which scripts know it. */
  readonly dueKeys: readonly Key[]
  dueKeyOf(messageKey: string): Key
  /** The first one of its group, where that keeps what belongs to all of them. */
  homeOf(dueKey: Key): Key
  /** The same in groups that one script may be given: all at once where there are no slots. */
  readonly groups: readonly Keys[]
}

type Key = string
export type Keys = readonly [Key, ...Key[]]

/** Tags are digests: what a prefix or an id holds decides over no slot. */
export function createPartitions(prefix: string, count: number, isCluster: boolean): Partitions {
  const [first, ...others] = Array.from({ length: Math.max(1, count) }, (_, index) => dueKey(prefix, index))
  const all: Keys = [first ?? dueKey(prefix, 0), ...others]
  return {
    dueKeys: all,
    dueKeyOf: (messageKey) => all[scattered(messageKey) % all.length] ?? all[0],
    homeOf: (dueKey) => (isCluster ? dueKey : all[0]),
    groups: isCluster ? all.map((key): Keys => [key]) : [all],
  }
}

function dueKey(prefix: string, index: number): Key {
  const digest = createHash('sha256').update(`${prefix}:${index}`).digest('hex')
  return `${prefix}:{${digest.slice(0, TAG_DIGITS)}}:due`
}

/** FNV-1a: message keys are digests already, and this is asked for every event. */
function scattered(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
