/**
 * Leases messages and hands out the first event of each; a message that somebody else holds or that is not due is left
 * out, and one whose keys are of a wrong type is put off for a minute. Run again by the same call, it gives the same.
 *
 * ARGV: now, lease (ms), call, message ... Returns for each: message, id, token, attempt, late, replay, record, bytes. The
 * first write is one that is allowed where memory is full: what is handed over makes room.
 */
import { PRELUDE } from './prelude.ts'
import { SCHEDULE } from './schedule.ts'

export const CLAIM = /* lua */ `
${PRELUDE}
${SCHEDULE}
local leaseEnd, call = now + tonumber(ARGV[2]), ARGV[3]

local function look(mk)
  local place = redis.call('ZRANGE', waitingOf(mk), 0, 0)[1]
  if not place then return { mk = mk } end
  local lease = redis.call('HMGET', messageOf(mk), 'u', 'c', 'i', 't', 'h', 'o')
  local held = lease[1] and tonumber(lease[1]) > now
  if held and lease[2] ~= call then return false end
  local id = held and lease[3] or idAt(place)
  local event = redis.call('HMGET', eventOf(mk, id), 'D', 'a', 'o', 'f', 'l', 'y', 'j', 'r', 'k')
  if not event[1] then return held and false or { mk = mk, gone = place } end
  if not held and tonumber(event[1]) > now then return { mk = mk } end
  return { mk = mk, id = id, held = held, token = held and event[9] or ms((tonumber(lease[4]) or 0) + 1),
    handed = lease[5] or '', handedOpen = lease[6] or '', event = event }
end

local plans = {}
for at = 4, #ARGV do
  local ok, plan = pcall(look, ARGV[at])
  if not ok then plan = { mk = ARGV[at], broken = true } end
  if plan then plans[#plans + 1] = plan end
end

local claims = {}
for _, plan in ipairs(plans) do
  local mk = plan.mk
  if plan.broken then
    redis.call('ZREM', KEYS[1], mk)
    redis.call('ZADD', KEYS[1], ms(now + 60000), mk)
  elseif not plan.id then
    redis.call('ZREM', KEYS[1], mk)
    if plan.gone then
      redis.call('ZREM', waitingOf(mk), plan.gone)
      redis.call('DECR', base .. 'open')
    end
    redis.call('HDEL', messageOf(mk), 'l', 'u', 'i', 'c')
    schedule(mk)
  else
    local event = plan.event
    local attempt = tonumber(event[2]) or 0
    if not plan.held then
      local order = event[3]
      attempt = attempt + 1
      redis.call('ZREM', KEYS[1], mk)
      redis.call('HSET', messageOf(mk), 't', plan.token, 'l', plan.token, 'u', ms(leaseEnd), 'i', plan.id, 'c', call)
      if before(plan.handed, order) then redis.call('HSET', messageOf(mk), 'h', order) end
      if not event[4] and before(plan.handedOpen, order) then redis.call('HSET', messageOf(mk), 'o', order) end
      redis.call('HSET', eventOf(mk, plan.id), 'a', ms(attempt), 'k', plan.token, 'c', call)
      redis.call('ZADD', KEYS[1], ms(leaseEnd), mk)
    end
    claims[#claims + 1] = { mk, plan.id, plan.token, ms(attempt), event[5] or '', event[6] or '', event[7], event[8] }
  end
end
return claims
`
