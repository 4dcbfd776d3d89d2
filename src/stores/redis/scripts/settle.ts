/**
 * Ends an attempt: done, to be tried again, or dead. ARGV: now, message, id, token, outcome, delay (ms from now), error,
 * call, retention, dedupe and dead letters (ms). Returns 1, or 0 where the lease did not hold and nothing changed; 1 again to
 * the same call. The first write is one that is allowed where memory is full.
 */
import { PRELUDE } from './prelude.ts'
import { SCHEDULE } from './schedule.ts'

export const SETTLE = /* lua */ `
${PRELUDE}
${SCHEDULE}
local mk, id, token, outcome, call = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[8]
local m, w, e = messageOf(mk), waitingOf(mk), eventOf(mk, id)
local event = redis.call('HMGET', e, 'k', 'c', 'z', 'o')
if event[1] ~= token then return 0 end
if event[2] == call then return 1 end
if event[3] then return 0 end
local message = redis.call('HMGET', m, 'l', 'x')
local isOurs = not message[1] or message[1] == token
redis.call('ZCARD', w)

if outcome == 'retry' then
  if isOurs then redis.call('ZREM', KEYS[1], mk) end
  redis.call('HSET', e, 'D', ms(now + tonumber(ARGV[6])), 'c', call)
else
  redis.call('ZREM', w, placeOf(event[4], id))
  redis.call('DECR', base .. 'open')
  redis.call('HSET', m, 'd' .. id, ms(math.max(1, math.floor(now / 1000))))
  if outcome == 'dead' then
    local keep = tonumber(ARGV[11])
    redis.call('HSET', e, 'z', 'x', 'E', ARGV[7], 'T', ms(now), 'c', call)
    redis.call('ZADD', base .. 'dead', ms(now), id)
    redis.call('HSET', base .. 'deadof', id, mk)
    redis.call('PEXPIRE', e, ms(keep + 86400000))
    if (tonumber(message[2]) or 0) < now + keep then
      message[2] = ms(now + keep)
      redis.call('HSET', m, 'x', message[2])
    end
  else
    local keep = tonumber(ARGV[9])
    redis.call('HSET', e, 'z', 's', 'c', call)
    if keep == 0 then redis.call('HDEL', e, 'r', 'j') end
    -- A minute longer it knows this call, should a client send it again.
    redis.call('PEXPIRE', e, ms(math.max(keep, 60000)))
  end
end
if isOurs then
  redis.call('HDEL', m, 'l', 'u', 'i', 'c')
  schedule(mk)
end
if redis.call('EXISTS', w) == 0 then
  redis.call('PEXPIRE', m, ms(math.max(tonumber(ARGV[10]), (tonumber(message[2]) or 0) - now)))
end
return 1
`
