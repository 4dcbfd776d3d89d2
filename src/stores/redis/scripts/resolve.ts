/**
 * Ends the state of a dead letter. ARGV: now, id, resolution (replay, force or discard), retention (ms), call. Returns 1,
 * or 0 where this partition has no such one; 1 again to the same call within a minute; and what is to be reported. One that
 * nobody knows the message of any more can only be given up.
 */
import { HEAL } from './heal.ts'
import { ONE_OF_MANY } from './one-of-many.ts'
import { PRELUDE } from './prelude.ts'
import { SOUND } from './sound.ts'
import { WAITING } from './waiting.ts'

export const RESOLVE = /* lua */ `
${PRELUDE}
${SOUND}
${WAITING}
${HEAL}
${ONE_OF_MANY}
local id, resolution, call = ARGV[2], ARGV[3], ARGV[5]
local dead = unpacked(redis.pcall('HGET', base .. 'deadof', id))
local mk = dead and type(dead.m) == 'string' and dead.m

local function forget()
  redis.call('ZREM', base .. 'dead', id)
  redis.call('HDEL', base .. 'deadof', id)
  redis.call('SET', base .. 'call:' .. id, call, 'PX', 60000)
end

local function resolve()
  local isThere = redis.call('HEXISTS', base .. 'deadof', id) == 1
  if not redis.call('ZSCORE', base .. 'dead', id) and not isThere then
    return redis.pcall('GET', base .. 'call:' .. id) == call and 1 or 0
  end
  local m, e = mk and messageOf(mk), mk and eventOf(mk, id)
  if resolution == 'discard' then
    forget()
    if mk then redis.call('PEXPIRE', e, ARGV[4]) end
    return 1
  end
  if not mk then return 0 end
  local packed = redis.call('HGET', m, 'S')
  local state = packed and sound(stateIn(packed)) or {}
  if state.w and redis.call('ZCOUNT', waitingOf(mk), 0, 0) ~= state.w then error('damaged') end
  local isKept = redis.call('EXISTS', e) == 1
  redis.call('ZREM', base .. 'dead', id)
  redis.call('HDEL', base .. 'deadof', id)
  if not isKept then return 0 end
  forget()
  local order, final = type(dead.q) == 'string' and dead.q or '', dead.f == true or nil
  local late = resolution ~= 'force' and isLate(order, final, state)
  local event = { q = order, f = final, b = healer().whole(dead.b, 2147483648) and dead.b or nil, l = late or nil, y = true, D = now }
  join(mk, state, id, order)
  redis.call('HSET', m, 'd' .. id, cmsgpack.pack(event), 'S', cmsgpack.pack(state))
  redis.call('PERSIST', m)
  redis.call('PERSIST', e)
  schedule(mk, state)
  return 1
end

local answer, trouble = try(resolve, 1, mk)
if fatal then return fatal end
if miscounted then healer().settleCounts() end
return { answer or trouble, notes }
`
