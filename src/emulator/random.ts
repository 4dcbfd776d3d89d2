/** What the emulator makes up: ids, keys and times, the same for the same seed and labels, in whatever order one asks. */
import { createHash } from 'node:crypto'
import { drawsOf, wholeNumber, type Seed } from './faults/draws.ts'

type Labels = readonly (string | number)[]

/** A number from 0 up to, not including, 1. */
export function draw(seed: Seed, ...labels: Labels): number {
  return drawsOf(seed, ...labels)('')
}

/** A whole number between two, both included. */
export function drawBetween([least, most]: readonly [number, number], seed: Seed, ...labels: Labels): number {
  return wholeNumber(draw(seed, ...labels), least, most)
}

/** Text in the form of a UUID. */
export function drawUuid(seed: Seed, ...labels: Labels): string {
  const hex = hexOf(seed, labels)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** 40 hexadecimal digits: keys of a local play, as secret as its seed. */
export function drawKey(seed: Seed, ...labels: Labels): string {
  return hexOf(seed, labels).slice(0, 40)
}

function hexOf(seed: Seed, labels: Labels): string {
  return createHash('sha256')
    .update(JSON.stringify([seed, ...labels]))
    .digest('hex')
}
