/**
 * Payloads, each under a key made of its record key and its id. Searches without an index walk through all keys of a kind in
 * short steps.
 */
import type { EventPlace } from '../engine.ts'
import type { StoredPayload } from '../stored.ts'
import { admittedAtMsIn, decodeDead, decodePayload } from './encoding.ts'
import { ask, valuesAt, type Engine } from './engine.ts'
import { inCalls, type Partition } from './partitions.ts'
import { list, text } from './replies.ts'
import { walk as walkScript } from './scripts.ts'
import { payloadKey } from './writing.ts'

export function payloadsAt(
  engine: Engine,
  places: readonly EventPlace[],
): Promise<readonly (StoredPayload | undefined)[]> {
  return inCalls(places, engine.partitions, async ({ base }, some) => {
    const names = some.map(({ key, id }) => base + payloadKey(key, id))
    const values = await valuesAt(engine.redis, names)
    return values.map((value, at) => value && decodePayload(some[at]?.id ?? '', value))
  })
}

/** The ids of all payloads of a record. */
export async function idsLeft(engine: Engine, key: string): Promise<readonly string[]> {
  const ids = new Set<string>()
  for await (const found of walk(engine, payloadKey(key, '*'), [engine.partitions.of(key)]))
    for (const { id } of found) ids.add(id)
  return [...ids]
}

/** The key and the error of a dead letter. */
export async function deadLetter(engine: Engine, partition: Partition, id: string) {
  const stored = await ask(engine, partition, ['HGET', 'deadof', id])
  return Buffer.isBuffer(stored) ? decodeDead(stored) : undefined
}

/** Keys per script call: one or two milliseconds of the server's time. */
const KEYS_A_STEP = 500

/** The parts of a key that a walk found. */
export interface Walked {
  readonly key: string
  /** Empty if the key does not belong to an event. */
  readonly id: string
  /** The admission time. 0 if unknown. */
  readonly atMs: number
}

/** Steps through the keys that match a pattern in these partitions. Keys may appear twice. */
export async function* walk(
  engine: Engine,
  pattern: string,
  partitions: readonly Partition[] = engine.partitions.all,
): AsyncGenerator<readonly Walked[]> {
  for (const partition of partitions) {
    let cursor = '0'
    while (cursor !== '') {
      const step = await stepFrom(engine, partition, cursor, pattern)
      cursor = step.cursor
      yield step.found
    }
  }
}

export async function stepFrom({ redis }: Engine, { base }: Partition, cursor: string, pattern: string) {
  const [next, ...keys] = list(await redis.run(walkScript, [`${base}due`], [cursor, pattern, KEYS_A_STEP]))
  const found = keys.map((one): Walked => {
    const [name, head] = list(one)
    const [, key = '', id = ''] = text(name).split(':')
    return { key, id, atMs: admittedAtMsIn(text(head)) ?? 0 }
  })
  return { cursor: text(next), found }
}
