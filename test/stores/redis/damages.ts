/** Each key and each field that the store keeps, spoilt as somebody with `redis-cli` would. The list is that of the prelude. */
import type { Damage, DamageTarget } from 'messaging-webhooks/store-conformance'
import { Redis, type Cluster } from 'ioredis'
import { createPartitions } from '../../../src/stores/redis/partitions.ts'

interface RedisDamage extends Damage {
  /** Lua. KEYS[1] is the due set; `base`, `home`, `m`, `w`, `e`, `mk`, `id` are what they are in the scripts. */
  readonly lua: string
}

type Leaves = Damage['leaves']
const spoil = (name: string, lua: string, leaves: Leaves = 'whole'): RedisDamage => ({ name, leaves, lua })

/** A packed field becomes something else. */
const edit = (key: string, field: string, set: string): string => `
  local packed = redis.call('HGET', ${key}, ${field})
  -- Once settled it is no packed event any more.
  if not packed or string.byte(packed) < 128 then return end
  local s = cmsgpack.unpack(packed)
  ${set}
  redis.call('HSET', ${key}, ${field}, cmsgpack.pack(s))`

const NEITHER: readonly (readonly [how: string, lua: string])[] = [
  ['missing', 'nil'],
  ['a text', `'garbage'`],
  ['a number', '12345'],
  ['true', 'true'],
  ['a list', '{ 1, 2 }'],
]
const NO_NUMBER: readonly (readonly [how: string, lua: string])[] = [
  ...NEITHER.filter(([how]) => how !== 'a number'),
  ['huge', '1e300'],
  ['infinite', '1/0'],
  ['no number', '0/0'],
  ['negative', '-5'],
  ['a fraction', '1.5'],
  ['zero', '0'],
]

const fields = (
  what: string,
  key: string,
  field: string,
  names: string,
  values: typeof NEITHER,
  leaves?: Leaves,
): readonly RedisDamage[] =>
  names
    .split(' ')
    .flatMap((name) =>
      values.map(([how, value]) =>
        spoil(`${what}.${name}: ${how}`, edit(key, field, `s['${name}'] = ${value}`), leaves),
      ),
    )

const OTHER_TYPES = (key: string): readonly (readonly [how: string, lua: string])[] => [
  ['a text', `redis.call('DEL', ${key}); redis.call('SET', ${key}, 'somebody else')`],
  ['a list', `redis.call('DEL', ${key}); redis.call('RPUSH', ${key}, 'somebody else')`],
  ['a hash', `redis.call('DEL', ${key}); redis.call('HSET', ${key}, 'somebody', 'else')`],
  ['a set', `redis.call('DEL', ${key}); redis.call('SADD', ${key}, 'somebody')`],
  ['a sorted set', `redis.call('DEL', ${key}); redis.call('ZADD', ${key}, 1, 'somebody')`],
  ['deleted', `redis.call('DEL', ${key})`],
]
const others = (what: string, key: string, without: string, leaves?: Leaves): readonly RedisDamage[] =>
  OTHER_TYPES(key)
    .filter(([how]) => how !== without)
    .map(([how, lua]) => spoil(`${what}: ${how}`, lua, leaves))

/** What a packed value may become. */
const VALUES = (key: string, field: string): readonly (readonly [how: string, lua: string])[] => [
  ['a text', `redis.call('HSET', ${key}, ${field}, 'garbage')`],
  ['a number as text', `redis.call('HSET', ${key}, ${field}, '12345')`],
  ['bytes', `redis.call('HSET', ${key}, ${field}, '\\255\\254\\0')`],
  ['empty', `redis.call('HSET', ${key}, ${field}, '')`],
  [
    'truncated',
    `local packed = redis.call('HGET', ${key}, ${field})
     if packed then redis.call('HSET', ${key}, ${field}, string.sub(packed, 1, -4)) end`,
  ],
  ['a packed number', `redis.call('HSET', ${key}, ${field}, cmsgpack.pack(5))`],
  ['a packed text', `redis.call('HSET', ${key}, ${field}, cmsgpack.pack(string.rep('garbage', 40)))`],
  ['a packed list', `redis.call('HSET', ${key}, ${field}, cmsgpack.pack({ 1, 2 }))`],
  ['missing', `redis.call('HDEL', ${key}, ${field})`],
]
const values = (what: string, key: string, field: string, leaves?: Leaves): readonly RedisDamage[] =>
  VALUES(key, field).map(([how, lua]) => spoil(`${what}: ${how}`, lua, leaves))

/** The record of this event wherever it stands in the hash of its message. */
const record = (set: string): string => `
  for _, field in ipairs(redis.call('HKEYS', m)) do
    if field == 'R' or string.sub(field, 1, 1) == 'F' then
      local old = redis.call('HGET', m, field)
      ${set}
    end
  end`

/** What stands before the line feed. */
const payload = (set: string): string => `
  local old = redis.call('GET', e)
  if not old then return end
  local at = string.find(old, '\\n', 1, true)
  local json, raw = string.sub(old, 1, at - 1), string.sub(old, at + 1)
  local life = redis.call('PTTL', e)
  ${set}
  redis.call('SET', e, json .. '\\n' .. raw)
  if life > 0 then redis.call('PEXPIRE', e, life) end`

const DAMAGES: readonly RedisDamage[] = [
  ...others('sent', `base .. 'sent'`, 'a sorted set'),
  ...others('overdue', `base .. 'overdue'`, 'a sorted set'),
  spoil('E: not JSON', `redis.call('HSET', m, 'E', 'not JSON', 'O', 'garbage')`),
  ...others('due', 'KEYS[1]', 'a sorted set'),
  spoil('due: the message is missing', `redis.call('ZREM', KEYS[1], mk)`),
  ...['inf', '-inf', '1e300', '-1e300', '1.5', '0'].map((score) =>
    spoil(`due: the score is ${score}`, `redis.call('ZADD', KEYS[1], 'XX', '${score}', mk)`),
  ),
  ...['0', '-inf', 'inf', '99999999999999'].map((score) =>
    spoil(`due: a member that is no message, at ${score}`, `redis.call('ZADD', KEYS[1], '${score}', 'nobody')`),
  ),
  spoil('due: a member that is no text', `redis.call('ZADD', KEYS[1], 0, '\\255\\254')`),

  // The order of what waited first is gone with it: it comes when it is found.
  ...[
    ...others('m', 'm', 'a hash'),
    spoil('m: another hash', `redis.call('DEL', m); redis.call('HSET', m, 'a', 'b', 'd', 'e', 'F', 'g', 'R', 'h')`),
  ].map((damage): RedisDamage => ({ ...damage, scatters: true })),
  ...values('m.S', 'm', `'S'`),
  ...fields('m.S', 'm', `'S'`, 'f q i h o H', NEITHER),
  // A text is an order, if another one: nothing is later, and the newest state stays what it is.
  ...fields(
    'm.S',
    'm',
    `'S'`,
    'L',
    NEITHER.filter(([how]) => how !== 'a text'),
  ),
  ...fields('m.S', 'm', `'S'`, 'w t u s g n x p', NO_NUMBER),
  ...fields('m.S', 'm', `'S'`, 'R', NEITHER),
  spoil('m.S.f: another event', edit('m', `'S'`, `if s.f then s.f = string.rep('0', 32) end`)),
  spoil('m.S.w: too many', edit('m', `'S'`, `s.w = (s.w or 0) + 3`)),
  spoil('m.S.u: a lease without end', edit('m', `'S'`, `s.u = 8640000000000000; s.i = s.f`)),
  spoil('m.S: a field of a newer version', edit('m', `'S'`, `s.new = { 1 }`)),
  ...values('m.d', 'm', `'d' .. id`),
  ...fields('m.d', 'm', `'d' .. id`, 'q', NEITHER),
  ...fields('m.d', 'm', `'d' .. id`, 'D a k b', NO_NUMBER),
  ...fields('m.d', 'm', `'d' .. id`, 'f l y c m E T', NEITHER),
  spoil('m.d: settled, by its looks', `redis.call('HSET', m, 'd' .. id, '12345 somebody')`, 'either'),
  ...(
    [
      ['not JSON', `redis.call('HSET', m, field, 'not JSON at all')`],
      ['empty', `redis.call('HSET', m, field, '')`],
      ['truncated', `redis.call('HSET', m, field, string.sub(old, 1, -9))`],
      ['an array', `redis.call('HSET', m, field, '[]')`],
      ['of a newer version', `redis.call('HSET', m, field, '{"version":2}')`],
      ['no UTF-8', `redis.call('HSET', m, field, '\\255\\254')`],
      ['missing', `redis.call('HDEL', m, field)`],
    ] as const
  ).map(([how, set]) => spoil(`m.R and m.F: ${how}`, record(set))),
  spoil('m.F: one that is no event’s', `redis.call('HSET', m, 'Fnobody', 'garbage')`),

  ...others('w', 'w', 'a sorted set'),
  spoil('w: a member that is none', `redis.call('ZADD', w, 0, 'nobody')`),
  spoil('w: a member of no event', `redis.call('ZADD', w, 0, '000 nobody')`),
  spoil('w: a member that is no text', `redis.call('ZADD', w, 0, '\\255\\254')`),
  spoil('w: a member is missing', `redis.call('ZREMRANGEBYRANK', w, 0, 0)`),
  spoil('w: all members are missing', `redis.call('ZREMRANGEBYRANK', w, 0, -1)`),
  spoil(
    'w: other scores',
    `for _, each in ipairs(redis.call('ZRANGE', w, 0, -1)) do redis.call('ZADD', w, 'inf', each) end`,
  ),

  ...others('e', 'e', 'a text', 'less'),
  spoil('e: empty', `redis.call('SET', e, '')`, 'less'),
  spoil('e: a text without a line feed', `redis.call('SET', e, 'garbage')`, 'less'),
  spoil('e: truncated in the record', `redis.call('SET', e, string.sub(redis.call('GET', e) or '', 1, 20))`, 'less'),
  spoil('e: truncated in the bytes', payload(`raw = string.sub(raw, 1, -5)`)),
  spoil('e: with an end', `redis.call('PEXPIRE', e, 3600000)`),
  ...(
    [
      ['not JSON', `json = 'not JSON at all'`],
      ['empty', `json = ''`],
      ['truncated', `json = string.sub(json, 1, -9)`],
      ['an array', `json = '[]'`],
      ['null', `json = 'null'`],
      ['another shape', `json = '{"project":"My Shop"}'`],
      ['fields of the wrong types', `json = string.gsub(json, '"sms"', '5')`],
      ['of a newer version', `json = string.gsub(json, 'message.delivered', 'message.resent')`],
      ['no UTF-8', `json = '\\255\\254'`],
    ] as const
  ).map(([how, set]) => spoil(`e, the record: ${how}`, payload(set), 'part')),

  ...others('mark', `home .. 'mark'`, 'a text'),

  ...others('more', `base .. 'more'`, 'a text'),
  ...['garbage', '', '-7', '1e300', '9223372036854775807', '12345', '1.5'].map((value) =>
    spoil(`more: ${value === '' ? 'empty' : value}`, `redis.call('SET', base .. 'more', '${value}')`),
  ),

  ...others('dead', `base .. 'dead'`, 'a sorted set'),
  spoil('dead: a member that is none', `redis.call('ZADD', base .. 'dead', ARGV[3], 'nobody')`),
  spoil('dead: it is missing', `redis.call('ZREM', base .. 'dead', id)`),
  ...['inf', '-inf', '1e300', '-1e300', '-1'].map((score) =>
    spoil(`dead: the score is ${score}`, `redis.call('ZADD', base .. 'dead', 'XX', '${score}', id)`),
  ),
  ...others('deadof', `base .. 'deadof'`, 'a hash'),
  spoil('deadof: one that is none', `redis.call('HSET', base .. 'deadof', 'nobody', 'garbage')`),
  ...VALUES(`base .. 'deadof'`, 'id').map(([how, lua]) =>
    spoil(`deadof: ${how}`, `if redis.call('HEXISTS', base .. 'deadof', id) == 1 then ${lua} end`),
  ),
  ...fields('deadof', `base .. 'deadof'`, 'id', 'q f b D a k l y c m E T', NEITHER),
  ...others('call', `base .. 'call:' .. id`, 'a text'),

  ...others('holders', `home .. 'holders'`, 'a sorted set'),
  ...['inf', '-inf', '1e300', '-1e300', '1.5', '0'].map((score) =>
    spoil(
      `holders: all scores are ${score}`,
      `for _, each in ipairs(redis.call('ZRANGE', home .. 'holders', 0, -1)) do
         redis.call('ZADD', home .. 'holders', '${score}', each)
       end`,
    ),
  ),
  spoil('holders: a member that is none', `redis.call('ZADD', home .. 'holders', 0, '\\255\\254')`),
  ...others('holderof', `home .. 'holderof'`, 'a hash'),
  ...others('buried', `home .. 'buried'`, 'a sorted set'),
  ...others('sweep', `home .. 'sweep'`, 'a hash'),
  ...others('steady', `home .. 'steady'`, 'a hash'),
  ...['inf', 'nan', '-1', 'garbage'].map((value) =>
    spoil(`steady: ${value}`, `redis.call('HSET', home .. 'steady', 'since', '${value}', 'last', '${value}')`),
  ),
  spoil(
    'sweep: a place that is none',
    `redis.call('HSET', home .. 'sweep', 'at', '-7.5', 'from', 'garbage', 'since', '')`,
  ),
]

export const REDIS_DAMAGES: readonly Damage[] = DAMAGES

const PARTITIONS = 16

/** Does one to this event or its message. */
export async function damageRedis(
  redis: Redis | Cluster,
  prefix: string,
  name: string,
  { id, messageKey }: DamageTarget,
  nowMs: number,
): Promise<void> {
  const found = DAMAGES.find((damage) => damage.name === name)
  if (found === undefined) throw new TypeError(`There is no such damage: ${name}.`)
  const partitions = createPartitions(prefix, PARTITIONS, false)
  const due = partitions.dueKeyOf(messageKey)
  const script = `
    local base, mk, id = string.sub(KEYS[1], 1, -4), ARGV[1], ARGV[2]
    local home = string.sub(KEYS[2], 1, -4)
    local m, w, e = base .. 'm:' .. mk, base .. 'w:' .. mk, base .. 'e:' .. mk .. ':' .. id
    ${found.lua}`
  await redis.eval(script, 2, due, partitions.homeOf(due), messageKey, id, String(nowMs))
}
