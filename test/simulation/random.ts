/** Seeded random numbers: a separate stream for each purpose, so that one more draw in a stream leaves the others unchanged. */

/** From 0 (included) to 1 (excluded). */
export type Random = () => number

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** The stream with this name under this seed. */
export function randomOf(seed: number, name: string): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ hashOf(name)) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function between(random: Random, least: number, most: number): number {
  return least + random() * (most - least)
}

export function wholeBetween(random: Random, least: number, most: number): number {
  return Math.floor(between(random, least, most + 1))
}

export function oneOf<T>(random: Random, among: readonly [T, ...T[]]): T {
  return among[Math.floor(random() * among.length)] ?? among[0]
}
