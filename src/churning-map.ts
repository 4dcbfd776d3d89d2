/**
 * A map whose members come and go all the time. V8 makes a table after the other for it, and a table that has become old
 * keeps the next one, and so all that went through, until the whole heap is collected: with 1 to 128 members at a time a
 * plain Map or Set costs 3 times the CPU of a list, and 150 MiB; one that is made anew in time, 1.5 times the CPU, and
 * nothing. So do 256 lists by hand, which it replaces (`node bench/micro/containers.ts`).
 */
export interface ChurningMap<K, V> {
  /** Replaced now and then, which ends the chain of its tables. */
  members: Map<K, V>
  removed: number
}

const REMOVED_AT_LEAST = 256

export function churningMap<K, V>(): ChurningMap<K, V> {
  return { members: new Map(), removed: 0 }
}

export function removeMember<K, V>(map: ChurningMap<K, V>, key: K): void {
  if (!map.members.delete(key)) return
  map.removed += 1
  if (map.removed < REMOVED_AT_LEAST || map.removed < map.members.size) return
  map.members = new Map(map.members)
  map.removed = 0
}
