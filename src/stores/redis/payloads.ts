/**
 * Payloads, each under a key made of its record key and its id. Searches without an index walk through all keys of a kind in
 * short steps.
 */
import type { EventPlace } from '../../inbox/record-store.ts'
import type { StoredPayload } from '../stored.ts'
import { admittedAtMsIn, decodeDead, decodePayload } from './encoding.ts'
import { ask, keysOf, valuesAt, type Engine } from './engine.ts'
import { inCalls, type Group, type Partition } from './partitions.ts'
import { list, text } from './replies.ts'
import { walk as walkScript } from './scripts.ts'
import { payloadKey } from './writing.ts'

export function payloadsAt(
  engine: Engine,
  places: readonly EventPlace[],
): Promise<readonly (StoredPayload | undefined)[]> {
  return inCalls(places, engine.partitions, async (placed) => {
    const names = placed.map(({ item: { key, id }, partition: { base } }) => base + payloadKey(key, id))
    const values = await valuesAt(engine.redis, names)
    return values.map((value, at) => value && decodePayload(placed[at]?.item.id ?? '', value))
  })
}

/** All payloads of a record, in the order of admission. */
export async function payloadsLeft(engine: Engine, key: string): Promise<readonly StoredPayload[]> {
  const { groups, of } = engine.partitions
  const { group } = of(key)
  const ids = new Set<string>()
  for await (const found of walk(engine, payloadKey(key, '*'), groups.slice(group, group + 1)))
    for (const { id } of found) ids.add(id)
  const payloads = await payloadsAt(
    engine,
    [...ids].map((id) => ({ key, id })),
  )
  return payloads
    .flatMap((payload) => payload ?? [])
    .sort((a, b) => a.admittedAtMs - b.admittedAtMs || (a.id < b.id ? -1 : 1))
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

/** Steps through the keys that match a pattern in these groups. Keys may appear twice. */
export async function* walk(
  engine: Engine,
  pattern: string,
  groups: readonly Group[] = engine.partitions.groups,
): AsyncGenerator<readonly Walked[]> {
  for (const group of groups) {
    let cursor = '0'
    while (cursor !== '') {
      const step = await stepFrom(engine, group, cursor, pattern)
      cursor = step.cursor
      yield step.found
    }
  }
}

export async function stepFrom({ redis, partitions }: Engine, group: Group, cursor: string, pattern: string) {
  const [next, ...keys] = list(await redis.run(walkScript, keysOf(group), [cursor, pattern, KEYS_A_STEP]))
  const all = keys.map((one): Walked => {
    const [name, head] = list(one)
    const [, key = '', id = ''] = text(name).split(':')
    return { key, id, atMs: admittedAtMsIn(text(head)) ?? 0 }
  })
  // A server of a cluster also holds keys of other groups.
  return { cursor: text(next), found: all.filter(({ key }) => partitions.of(key).group === group[0].group) }
}
