/** Chance that repeats: a number is drawn by what it is for, so that no draw depends on how many there were before. */
import { createHash } from 'node:crypto'

/** What all draws of a run start from. */
export type Seed = number | string

/** A number from 0 up to, but not including, 1; the same for the same `what`. */
export type Draw = (what: string) => number

const BYTES = 6

export function drawsOf(seed: Seed, ...about: readonly (string | number)[]): Draw {
  const prefix = JSON.stringify([seed, ...about])
  return (what) => createHash('sha256').update(prefix).update(what).digest().readUIntBE(0, BYTES) / 2 ** (8 * BYTES)
}

/** A whole number from `least` to `most`, both included. */
export function wholeNumber(fraction: number, least: number, most: number): number {
  return least + Math.floor(fraction * (most - least + 1))
}
