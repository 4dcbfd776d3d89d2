/** Payloads, each under a key made of its record key and its id. */
import type { EventPlace } from '../engine.ts'
import type { StoredPayload } from '../stored.ts'
import { decodeDead, decodePayload } from './encoding.ts'
import { ask, valuesAt, type Engine } from './engine.ts'
import { inCalls, type Partition } from './partitions.ts'
import { list, scored, text } from './replies.ts'
import { eventPlace, payloadKey } from './writing.ts'

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
  const places = await placesLike(engine, `*:${key}`, [engine.partitions.of(key)])
  return places.filter((place) => place.key === key).map(({ id }) => id)
}

/** The key and the error of a dead letter. */
export async function deadLetter(engine: Engine, partition: Partition, id: string) {
  const stored = await ask(engine, partition, ['HGET', 'deadof', id])
  return Buffer.isBuffer(stored) ? decodeDead(stored) : undefined
}

/** Members per step: less than a millisecond of the server's time. */
const MEMBERS_A_STEP = '500'

/** The events whose name matches a pattern, each once. Walks through all events of these partitions in short steps. */
export async function placesLike(
  engine: Engine,
  pattern: string,
  partitions: readonly Partition[] = engine.partitions.all,
): Promise<readonly EventPlace[]> {
  // A walk may return a member twice.
  const found = new Set<string>()
  for (const partition of partitions) {
    let cursor = '0'
    do {
      const step = await ask(engine, partition, ['ZSCAN', 'events', cursor, 'MATCH', pattern, 'COUNT', MEMBERS_A_STEP])
      const [next, members] = list(step)
      for (const { member } of scored(list(members))) found.add(member)
      cursor = text(next)
    } while (cursor !== '0')
  }
  return [...found].map(eventPlace)
}
