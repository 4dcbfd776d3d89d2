/** An object that has each of these names, and what is made for it. */
export function recordOf<K extends string, V>(names: readonly K[], make: (name: K) => V): Record<K, V> {
  // `fromEntries` forgets the names, which are all there are.
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, V>
}
