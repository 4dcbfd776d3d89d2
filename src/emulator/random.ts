/** Repeatable random numbers. Each is derived from its purpose, so that no draw depends on earlier ones. */
// Not by name: see src/messages/order.ts.
import * as crypto from 'node:crypto'

/** Determines the random choices of a run. */
export type Seed = number | string

type Labels = readonly (string | number)[]

/** A number from 0 to 1, excluding 1. The same `what` gives the same number. */
export type Draw = (what: string) => number

const BYTES = 6

export function drawsOf(seed: Seed, ...about: Labels): Draw {
  const prefix = JSON.stringify([seed, ...about])
  return (what) =>
    crypto.createHash('sha256').update(prefix).update(what).digest().readUIntBE(0, BYTES) / 2 ** (8 * BYTES)
}

/** A number from 0 to 1, excluding 1. */
export function draw(seed: Seed, ...labels: Labels): number {
  return drawsOf(seed, ...labels)('')
}

/** Numbers the calls with the same name, from 0. */
export function createCounter(): (name: string) => number {
  const counts = new Map<string, number>()
  return (name) => {
    const nth = counts.get(name) ?? 0
    counts.set(name, nth + 1)
    return nth
  }
}

/** A whole number from `least` to `most`, both included. */
export function wholeNumber(fraction: number, least: number, most: number): number {
  return least + Math.floor(fraction * (most - least + 1))
}

/** A string in the form of a UUID. */
export function drawUuid(seed: Seed, ...labels: Labels): string {
  const hex = drawHex(seed, ...labels)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** 64 hexadecimal digits. */
export function drawHex(seed: Seed, ...labels: Labels): string {
  return crypto.hash('sha256', JSON.stringify([seed, ...labels]))
}
