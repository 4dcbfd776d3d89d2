/**
 * Payloads: each under a key of its own, that of its record and its id. What no index has is found by a walk through all keys of a kind, in
 * short steps: what people look for, and what is left of a record.
 */
import type { EventPlace, Payload, SharedStore } from '../../inbox/record-store.ts'
import { decodePayload } from './encoding.ts'
import { keysOf, valuesAt, type Engine } from './engine.ts'
import { callsFor, inCalls } from './partitions.ts'
import { list, text } from './replies.ts'
import { walk as walkScript } from './scripts.ts'
import { payloadKey } from './writing.ts'

export interface Payloads extends Pick<SharedStore, 'payloads'> {
  /** The payloads of these events, with the time of their admission. */
  payloadsAt(places: readonly EventPlace[]): Promise<readonly (AdmittedPayload | undefined)[]>
  /** All that are left of a record, in the order of their admission. */
  leftOf(key: string): Promise<readonly LeftPayload[]>
}

export type AdmittedPayload = Payload & { readonly atMs: number }

interface LeftPayload {
  readonly id: string
  readonly admittedAtMs: number
  readonly record: Payload['record'] | undefined
}

export function createPayloads(engine: Engine): Payloads {
  const walk = createWalk(engine)

  function payloadsAt(places: readonly EventPlace[]): Promise<readonly (AdmittedPayload | undefined)[]> {
    const calls = callsFor(places, engine.partitions, ({ key }) => key)
    return inCalls(calls, async ({ members }) => {
      const names = members.map(({ item: { key, id }, partition: { base } }) => base + payloadKey(key, id))
      const values = await valuesAt(engine, names)
      return members.map(({ item: { id } }, at) => {
        const value = values[at]
        return value === undefined ? undefined : decodePayload(id, value)
      })
    })
  }

  return {
    payloadsAt,
    payloads: payloadsAt,
    async leftOf(key) {
      const ids: string[] = []
      for await (const step of walk(payloadKey(key, '*'), key)) ids.push(...step.map(({ id }) => id))
      const found = await payloadsAt([...new Set(ids)].map((id) => ({ key, id })))
      return found
        .flatMap((payload) => payload ?? [])
        .map(({ id, atMs, record, corrupt }) => ({
          id,
          admittedAtMs: atMs,
          record: corrupt === undefined ? record : undefined,
        }))
        .sort((a, b) => a.admittedAtMs - b.admittedAtMs || (a.id < b.id ? -1 : 1))
    },
  }
}

/** Keys that a script looks at: a millisecond or two of the server's time. */
const KEYS_A_STEP = 500

/** A key as a walk finds it: its parts after its kind, and the beginning of its value. */
export interface Walked {
  readonly key: string
  /** Empty for a key that is not of an event. */
  readonly id: string
  readonly head: string
}

/** Steps through the keys of a pattern, some of them twice; of one record alone, where its key is given. */
type Walk = (pattern: string, recordKey?: string) => AsyncGenerator<readonly Walked[]>

export function createWalk({ redis, partitions }: Pick<Engine, 'redis' | 'partitions'>): Walk {
  return async function* walk(pattern, recordKey) {
    const only = recordKey === undefined ? undefined : partitions.of(recordKey).group
    for (const [group, members] of partitions.groups.entries()) {
      if (only !== undefined && group !== only) continue
      let cursor = '0'
      while (cursor !== '') {
        const step = await stepFrom(redis, keysOf(members), cursor, pattern)
        cursor = step.cursor
        // A server of a cluster has other groups, too.
        yield step.found.filter(({ key }) => partitions.of(key).group === group)
      }
    }
  }
}

export async function stepFrom(
  redis: Engine['redis'],
  keys: readonly [string, ...string[]],
  cursor: string,
  pattern: string,
): Promise<{ readonly cursor: string; readonly found: readonly Walked[] }> {
  const [next, ...flat] = list(await redis.run(walkScript, keys, [cursor, pattern, KEYS_A_STEP])).map(text)
  const found = Array.from({ length: flat.length / 2 }, (_, at): Walked => {
    const [, key = '', id = ''] = (flat[2 * at] ?? '').split(':')
    return { key, id, head: flat[2 * at + 1] ?? '' }
  })
  return { cursor: next ?? '', found }
}
