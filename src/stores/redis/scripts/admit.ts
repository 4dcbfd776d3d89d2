/**
 * Takes one event in, with its message's latest state and its gap. The first write is refused where memory is full, and
 * then none is done.
 *
 * ARGV: now, message, id, order, final (1 or 0), step, awaits, gap (ms from now), record, bytes, call, dedupe (ms), most
 * finals. Returns 0 duplicate, 1 new, 2 late; the same again to the same call.
 */
import { PRELUDE } from './prelude.ts'
import { SCHEDULE } from './schedule.ts'

export const ADMIT = /* lua */ `
${PRELUDE}
${SCHEDULE}
local mk, id, order, final = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
local step, awaits, record, call = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[9], ARGV[11]
local m, w, e = messageOf(mk), waitingOf(mk), eventOf(mk, id)

local seen, handed, handedOpen, steps, gaps, latest, latestRecord, finals, sweepAt =
  unpack(redis.call('HMGET', m, 'd' .. id, 'h', 'o', 's', 'g', 'L', 'R', 'n', 'p'))
if seen then
  local was = redis.call('HMGET', e, 'c', 'l')
  if was[1] ~= call then return 0 end
  return was[2] and 2 or 1
end
steps, gaps = tonumber(steps) or 0, tonumber(gaps) or 0
local late = isLate(order, final, handed, handedOpen)
local waits = not late and awaits ~= 0 and bit.band(steps, awaits) == 0
local closes = step ~= 0 and bit.band(gaps, step) ~= 0
local due = waits and now + tonumber(ARGV[8]) or now
local places = closes and redis.call('ZRANGE', w, 0, -1) or {}
local isAtRest = redis.call('ZCARD', w) == 0
redis.call('ZSCORE', KEYS[1], mk)

if closes then gaps = gaps - bit.band(gaps, step) end
if waits then gaps = bit.bor(gaps, awaits) end
local isNewest = order ~= '' and (not latest or before(latest, order))
local isNewFinal = order ~= '' and final and redis.call('HEXISTS', m, 'F' .. order) == 0

local known = { 'd' .. id, '0' }
local function know(field, value)
  known[#known + 1] = field
  known[#known + 1] = value
end
if step ~= 0 then know('s', ms(bit.bor(steps, step))) end
if closes or waits then know('g', ms(gaps)) end
if isNewest then know('L', order) end
if isNewest and not final then know('R', record) end
if isNewFinal then
  know('F' .. order, record)
  know('n', ms((tonumber(finals) or 0) + 1))
end
redis.call('HSET', m, unpack(known))
-- The record of the latest one stands there once: a final one among the finals.
if isNewest and final and latestRecord then redis.call('HDEL', m, 'R') end
if isAtRest then redis.call('PERSIST', m) end

local event = { 'r', ARGV[10], 'j', record, 'o', order, 'D', ms(due), 'c', call }
if final then event[#event + 1], event[#event + 2] = 'f', '1' end
if late then event[#event + 1], event[#event + 2] = 'l', '1' end
if awaits ~= 0 then event[#event + 1], event[#event + 2] = 'w', ARGV[7] end
redis.call('HSET', e, unpack(event))
redis.call('ZADD', w, 0, placeOf(order, id))
redis.call('INCR', base .. 'open')

for _, place in ipairs(places) do
  local other = eventOf(mk, idAt(place))
  local was = redis.call('HMGET', other, 'w', 'a', 'D')
  if tonumber(was[1]) == step and not was[2] and tonumber(was[3]) > now then redis.call('HSET', other, 'D', ms(now)) end
end

if isNewFinal and (tonumber(finals) or 0) >= tonumber(ARGV[13]) then
  local least
  for _, field in ipairs(redis.call('HKEYS', m)) do
    if string.sub(field, 1, 1) == 'F' and (not least or before(field, least)) then least = field end
  end
  redis.call('HDEL', m, least)
  redis.call('HINCRBY', m, 'n', -1)
end

-- A message that is never at rest must not remember for ever.
if redis.call('HLEN', m) > (tonumber(sweepAt) or 256) then
  local all = redis.call('HGETALL', m)
  local oldest = math.floor((now - tonumber(ARGV[12])) / 1000)
  for at = 1, #all, 2 do
    local settled = string.sub(all[at], 1, 1) == 'd' and tonumber(all[at + 1])
    if settled and settled ~= 0 and settled < oldest then redis.call('HDEL', m, all[at]) end
  end
  redis.call('HSET', m, 'p', math.max(256, 2 * redis.call('HLEN', m)))
end
-- What is at rest is held by nobody, and has no other event.
if isAtRest then redis.call('ZADD', KEYS[1], ms(due), mk) else schedule(mk) end
return late and 2 or 1
`
