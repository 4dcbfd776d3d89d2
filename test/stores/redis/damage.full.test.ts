/** Corrupts each key and field at each moment, as a user of `redis-cli` could, on a server for this file. The list matches `scripts.ts`. */
import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'
import { testDamages, type Damage, type DamageTarget } from '../damage.ts'
import { CLIENTS, clientFor, freshPrefix, describeRedis, toldStore, useRedis } from './own-redis.ts'

interface RedisDamage extends Damage {
  /** Lua. KEYS[1] is the record, KEYS[2] the payload, KEYS[3] the due set, which the others begin like; `key` and `id` are texts,
   * ARGV[3] is the key of no record. */
  readonly lua: string
}

const record = (how: string, lua: string): RedisDamage => ({
  name: `record: ${how}`,
  leaves: 'whole',
  // The payloads give a different order than the suite's samples.
  scatters: true,
  lua,
})
const payload = (how: string, lua: string, leaves: Damage['leaves']): RedisDamage => ({
  name: `payload: ${how}`,
  leaves,
  lua,
})
const set = (key: string, value: string): string => `redis.call('SET', ${key}, ${value}, 'KEEPTTL')`
/** `old`: the existing value; does nothing if there is none. */
const changed = (key: string, value: string): string => `
  local old = redis.call('GET', ${key})
  if old then ${set(key, value)} end`
const asList = (key: string): string => `redis.call('DEL', ${key}) redis.call('RPUSH', ${key}, 'another value')`

const UNSETTLED: Pick<Damage, 'at'> = { at: ['while it waits', 'before a restart', 'while leased'] }
const WAITS: Pick<Damage, 'at'> = { at: ['while it waits', 'before a restart'] }

const REDIS_DAMAGES: readonly RedisDamage[] = [
  record('a text', set('KEYS[1]', `'another value'`)),
  record('truncated', changed('KEYS[1]', `string.sub(old, 1, 40)`)),
  record('no version', changed('KEYS[1]', `string.sub(old, 13)`)),
  record('not JSON', changed('KEYS[1]', `string.sub(old, 1, 12) .. 'no'`)),
  record('another shape', changed('KEYS[1]', `string.sub(old, 1, 12) .. '[1,0,"one"]'`)),
  record('no UTF-8', changed('KEYS[1]', `string.sub(old, 1, 12) .. '\\255\\254'`)),
  { ...record('another version', changed('KEYS[1]', `'0123456789ab' .. string.sub(old, 13)`)), leaves: 'whole' },
  { ...record('a list', asList('KEYS[1]')), ...UNSETTLED },
  payload('no record', changed('KEYS[2]', `string.sub(old, 1, 15) .. '{}' .. string.match(old, '\\n.*')`), 'part'),
  payload('not JSON', changed('KEYS[2]', `string.sub(old, 1, 15) .. 'no' .. string.match(old, '\\n.*')`), 'part'),
  payload('truncated', changed('KEYS[2]', `string.sub(old, 1, 30)`), 'less'),
  payload('empty', changed('KEYS[2]', `''`), 'less'),
  payload('no time', changed('KEYS[2]', `string.sub(old, 16)`), 'whole'),
  payload('other bytes', changed('KEYS[2]', `string.match(old, '^[^\\n]*\\n') .. '\\0\\255'`), 'whole'),
  payload('a list', asList('KEYS[2]'), 'nothing'),
  payload('gone', `redis.call('DEL', KEYS[2])`, 'nothing'),
  { name: 'due: long ago', leaves: 'whole', ...WAITS, lua: `redis.call('ZADD', KEYS[3], -1, key)` },
  { name: 'due: never', leaves: 'whole', at: ['while leased'], lua: `redis.call('ZADD', KEYS[3], '+inf', key)` },
  {
    name: 'due: keys of nothing',
    leaves: 'whole',
    lua: `redis.call('ZADD', KEYS[3], 0, ARGV[3]) redis.call('ZADD', base .. 'leased', 0, ARGV[3])`,
  },
  { name: 'workers: gone', leaves: 'whole', lua: `redis.call('DEL', base .. 'workers')` },
  { name: 'workers: a list', leaves: 'whole', lua: asList(`base .. 'workers'`) },
  { name: 'mark: a list', leaves: 'whole', lua: asList(`base .. 'mark'`) },
]

const PARTITIONS = 1

/** Corrupts this event or its message. */
async function damageRedis(
  redis: Redis,
  prefix: string,
  damage: RedisDamage,
  { id, messageKey }: DamageTarget,
): Promise<void> {
  const partitions = createPartitions(prefix, PARTITIONS)
  const { base } = partitions.of(messageKey)
  const names = Array.from({ length: 1_000 }, (_, index) => `nothing ${index}`)
  const nothing = names.find((each) => partitions.of(each).base === base) ?? ''
  const script = `
    local key, id, base = ARGV[1], ARGV[2], string.sub(KEYS[3], 1, -4)
    ${damage.lua}`
  const keys = [`${base}r:${messageKey}`, `${base}p:${messageKey}:${id}`, `${base}due`]
  await redis.eval(script, keys.length, ...keys, messageKey, id, nothing)
}

describeRedis('corrupted behind its back', () => {
  const server = useRedis({ appendonly: 'no' })
  let admin: Redis | undefined
  afterAll(() => admin?.disconnect())
  let made = 0
  testDamages({
    makeStore() {
      const redis = (admin ??= new Redis(server().url()))
      const prefix = freshPrefix()
      // Each client has its turn.
      const { client, end } = clientFor(CLIENTS[(made += 1) % 2] ?? 'redis', server().url())
      return {
        store: toldStore(client, { prefix }),
        damage: (damage, target) => damageRedis(redis, prefix, damage, target),
        async dispose() {
          await end()
          // A walk through all keys must not meet those of earlier tests.
          await redis.flushall('ASYNC')
        },
      }
    },
    damages: REDIS_DAMAGES,
  })
})
