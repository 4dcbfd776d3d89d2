/** Known answers: worked out by hand from the contract, and never with the code that they are held against. */
import { readFileSync } from 'node:fs'
import type { z } from 'zod'

/** Reads `test/vectors/<name>.json`; the schema says what must stand in it. */
export function readVectors<T>(name: string, schema: z.ZodType<T>): T {
  return schema.parse(JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8')))
}
