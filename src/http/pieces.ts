/** The pieces of a body as they arrive. Many small ones cost far more than their bytes, so those are joined. */

export interface Pieces {
  add(piece: Buffer): void
  /** All of them as one; a single piece is not copied. */
  whole(): Buffer
}

/** So many are left as they came. */
const LOOSE = 16
/** As many with more bytes than this are worth no copy. */
const NOT_SMALL_BYTES = 16 * 1024

export function createPieces(): Pieces {
  /** What was joined is at most half as long as what stands before it, so that no byte is copied often. */
  const joined: Buffer[] = []
  let loose: Buffer[] = []

  function join(): void {
    let length = lengthOf(loose)
    if (length > NOT_SMALL_BYTES) joined.push(...loose)
    else {
      let first = joined.length
      for (let last = joined.at(-1); last !== undefined && last.length < 2 * length; last = joined[first - 1]) {
        length += last.length
        first -= 1
      }
      joined.push(Buffer.concat([...joined.splice(first), ...loose], length))
    }
    loose = []
  }

  return {
    add(piece) {
      loose.push(piece)
      if (loose.length === LOOSE) join()
    },
    whole() {
      const [only] = loose
      return only !== undefined && loose.length === 1 && joined.length === 0
        ? only
        : Buffer.concat([...joined, ...loose])
    },
  }
}

function lengthOf(pieces: readonly Buffer[]): number {
  let length = 0
  for (const piece of pieces) length += piece.length
  return length
}
