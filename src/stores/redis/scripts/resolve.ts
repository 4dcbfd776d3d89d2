/**
 * Ends the state of a dead letter. ARGV: now, id, resolution (replay, force or discard), retention (ms), call. Returns 1,
 * or 0 where this partition has no such one; 1 again to the same call within a minute.
 */
import { PRELUDE } from './prelude.ts'
import { WAITING } from './waiting.ts'

export const RESOLVE = /* lua */ `
${PRELUDE}
${WAITING}
local id, resolution, call = ARGV[2], ARGV[3], ARGV[5]
local buried = redis.call('HGET', base .. 'deadof', id)
if not buried then return redis.call('GET', base .. 'call:' .. id) == call and 1 or 0 end
local dead = cmsgpack.unpack(buried)
local mk = dead.m
local m, e = messageOf(mk), eventOf(mk, id)
local packed = redis.call('HGET', m, 'S')
local isKept = redis.call('EXISTS', e) == 1
redis.call('ZCARD', waitingOf(mk))

redis.call('ZREM', base .. 'dead', id)
redis.call('HDEL', base .. 'deadof', id)
if not isKept then return 0 end
redis.call('SET', base .. 'call:' .. id, call, 'PX', 60000)
if resolution == 'discard' then
  redis.call('PEXPIRE', e, ARGV[4])
  return 1
end
local state = stateIn(packed)
local late = resolution ~= 'force' and isLate(dead.q, dead.f, state)
local event = { q = dead.q, f = dead.f, b = dead.b, l = late or nil, y = true, D = now }
join(mk, state, id, dead.q)
redis.call('HSET', m, 'd' .. id, cmsgpack.pack(event), 'S', cmsgpack.pack(state))
redis.call('PERSIST', m)
redis.call('PERSIST', e)
schedule(mk, state)
return 1
`
