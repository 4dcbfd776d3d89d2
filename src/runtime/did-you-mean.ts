/** Suggests a known name for an unknown one: options, events, faults and signals. */

/** Maximum number of wrong letters, and their maximum share of the longer name, so that short names do not all match. */
const MOST_EDITS = 3
const MOST_EDITED = 0.43
/** A shorter prefix or suffix matches too many names. */
const SHORTEST_PART = 4

/** The closest known name, ignoring case. Undefined if none is close. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  return nearestByEdits(name, known) ?? known.find((other) => isPartOf(name, other))
}

/** Like `nearest`, but does not match a prefix or suffix. */
export function nearestByEdits(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let fewest = MOST_EDITS + 1
  for (const other of known) {
    const longest = Math.max(name.length, other.length)
    // The difference in length is a lower bound. It also bounds the work for a very long name.
    if (Math.abs(name.length - other.length) > MOST_EDITS) continue
    const edits = editsBetween(name.toLowerCase(), other.toLowerCase())
    if (edits < fewest && edits <= longest * MOST_EDITED) [best, fewest] = [other, edits]
  }
  return best
}

function isPartOf(name: string, other: string): boolean {
  const [shorter = '', longer = ''] = [name.toLowerCase(), other.toLowerCase()].sort((a, b) => a.length - b.length)
  return shorter.length >= SHORTEST_PART && (longer.startsWith(shorter) || longer.endsWith(shorter))
}

/** The number of letters omitted, added, changed, or swapped with a neighbour (Damerau and Levenshtein). */
function editsBetween(name: string, other: string): number {
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= name.length; row += 1) {
    const edits = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = name[row - 1] === other[column - 1]
      const isSwapped = name[row - 1] === other[column - 2] && name[row - 2] === other[column - 1]
      edits[column] = Math.min(
        at(last, column) + 1,
        at(edits, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, column - 2) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = edits
  }
  return at(last, other.length)
}

function at(edits: readonly number[], column: number): number {
  return edits[column] ?? Infinity
}
