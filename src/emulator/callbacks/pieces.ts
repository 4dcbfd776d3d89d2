/** A body cut into pieces, as a network may do. */
import { wholeNumber, type Draw } from '../faults/draws.ts'

const FEWEST = 2
const MOST = 6

/** Two to six pieces of drawn lengths, none of them empty; a body of one byte stays whole. */
export function inPieces(body: Buffer, draw: Draw): readonly Buffer[] {
  const wanted = wholeNumber(draw('pieces'), FEWEST, MOST)
  const cuts = new Set<number>()
  for (let nth = 1; nth < wanted && body.length > 1; nth += 1)
    cuts.add(wholeNumber(draw(`cut ${nth}`), 1, body.length - 1))
  const ends = [...cuts].sort((a, b) => a - b)
  return [...ends, body.length].map((end, nth) => body.subarray(ends[nth - 1] ?? 0, end))
}
