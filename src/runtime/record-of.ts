/** An object with a value for each name. */
export function recordOf<K extends string, V>(names: readonly K[], make: (name: K) => V): Record<K, V> {
  // `fromEntries` widens the names to string.
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, V>
}
