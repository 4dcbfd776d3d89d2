/**
 * Ends the state of a dead letter. ARGV: now, id, resolution (replay, force or discard), retention (ms), call. Returns 1,
 * or 0 where this partition has no such one; 1 again to the same call within a minute.
 */
import { PRELUDE } from './prelude.ts'
import { SCHEDULE } from './schedule.ts'

export const RESOLVE = /* lua */ `
${PRELUDE}
${SCHEDULE}
local id, resolution, call = ARGV[2], ARGV[3], ARGV[5]
local mk = redis.call('HGET', base .. 'deadof', id)
if not mk then return redis.call('GET', base .. 'call:' .. id) == call and 1 or 0 end
local m, w, e = messageOf(mk), waitingOf(mk), eventOf(mk, id)
local event = redis.call('HMGET', e, 'z', 'o', 'f')
local handed = redis.call('HMGET', m, 'h', 'o')
redis.call('ZCARD', w)

redis.call('ZREM', base .. 'dead', id)
redis.call('HDEL', base .. 'deadof', id)
if event[1] ~= 'x' then return 0 end
redis.call('SET', base .. 'call:' .. id, call, 'PX', 60000)
if resolution == 'discard' then
  redis.call('HDEL', e, 'E', 'T')
  redis.call('HSET', e, 'z', 's')
  redis.call('PEXPIRE', e, ARGV[4])
  return 1
end
local late = resolution ~= 'force' and isLate(event[2], event[3], handed[1], handed[2])
redis.call('HDEL', e, 'z', 'E', 'T', 'a', 'k', 'c', 'l')
redis.call('HSET', e, 'D', ms(now), 'y', '1')
if late then redis.call('HSET', e, 'l', '1') end
redis.call('PERSIST', e)
redis.call('HSET', m, 'd' .. id, '0')
redis.call('PERSIST', m)
redis.call('ZADD', w, 0, placeOf(event[2], id))
redis.call('INCR', base .. 'open')
schedule(mk)
return 1
`
