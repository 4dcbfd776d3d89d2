/** The order in which every batch locks its messages, so that no two wait for each other. */

/** The places of the items, by the keys of their messages; of one message in the order given. */
export function placesByKey(items: readonly { readonly messageKey: string }[]): readonly number[] {
  const keys = items.map(({ messageKey }) => messageKey)
  return keys.map((_, place) => place).toSorted((a, b) => compare(keys[a] ?? '', keys[b] ?? '') || a - b)
}

/** As Postgres compares the bytes; `localeCompare` would not. */
function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
