/**
 * Forgets dead letters that are too old; everything else expires by itself. Mends what belongs to all messages of a partition,
 * looks whether some of its messages are due beyond any wait, and whether each of its dead letters is known twice.
 *
 * ARGV: now, age (ms), most of them, place among the dead letters to look on from, cursor among what is known of them, and those
 * that nobody will find the message of. Returns how many it forgot, both places to go on from, the ids that the message is not
 * known of, and what is to be reported.
 */
import { HEAL } from './heal.ts'
import { ONE_OF_MANY } from './one-of-many.ts'
import { PRELUDE } from './prelude.ts'
import { SOUND } from './sound.ts'
import { WAITING } from './waiting.ts'

/** Messages that are counted each time, to see that the number of what waits is right: a millisecond or two. */
const MOST_COUNTED = 2_000

export const PRUNE = /* lua */ `
${PRELUDE}
${SOUND}
${WAITING}
${HEAL}
${ONE_OF_MANY}
local most = tonumber(ARGV[3])
local dead, deadof = base .. 'dead', base .. 'deadof'
local tools = healer()
local heal, whole = tools.heal, tools.whole
tools.mendPartition()
for at = 6, #ARGV do
  if not unpacked(redis.call('HGET', deadof, ARGV[at])) then
    redis.call('ZREM', dead, ARGV[at])
    redis.call('HDEL', deadof, ARGV[at])
  end
end

-- A time that cannot be: as old as is known, or else of now.
for _, range in ipairs({ { '(' .. ms(now + LONGEST), '+inf' }, { '-inf', '(0' } }) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', dead, range[1], range[2], 'LIMIT', 0, most)) do
    local known = unpacked(redis.call('HGET', deadof, id))
    redis.call('ZADD', dead, ms(known and whole(known.T, now + LONGEST) and known.T or now), id)
    note('state_damaged', id, 'dead')
  end
end
for _, mk in ipairs(redis.call('ZRANGEBYSCORE', due, '(' .. ms(now + LONGEST), '+inf', 'LIMIT', 0, most)) do heal(mk, 'due') end

local old = redis.call('ZRANGEBYSCORE', dead, '-inf', '(' .. ms(now - tonumber(ARGV[2])), 'LIMIT', 0, most)
for _, id in ipairs(old) do
  local known = unpacked(redis.call('HGET', deadof, id))
  redis.call('ZREM', dead, id)
  redis.call('HDEL', deadof, id)
  if known and type(known.m) == 'string' then redis.call('DEL', eventOf(known.m, id)) end
end

local from, lost = tonumber(ARGV[4]), {}
local some = redis.call('ZRANGE', dead, from, from + most - 1)
for _, id in ipairs(some) do
  local known = unpacked(redis.call('HGET', deadof, id))
  if not known or type(known.m) ~= 'string' then lost[#lost + 1] = id end
end
local seen = redis.call('HSCAN', deadof, ARGV[5], 'COUNT', most)
for at = 1, #seen[2], 2 do
  local id, known = seen[2][at], unpacked(seen[2][at + 1])
  if not redis.call('ZSCORE', dead, id) then
    if known and type(known.m) == 'string' then
      redis.call('ZADD', dead, ms(whole(known.T, now + LONGEST) and known.T or now), id)
      note('state_damaged', id, 'dead')
    else
      redis.call('HDEL', deadof, id)
    end
  end
end

-- What stands first shall be messages: nothing else may keep them from being seen.
for _, mk in ipairs(redis.call('ZRANGE', due, 0, 2 * most - 1)) do
  if redis.call('EXISTS', messageOf(mk), waitingOf(mk)) == 0 then redis.call('ZREM', due, mk) end
end
if redis.call('ZCARD', due) <= ${MOST_COUNTED} then
  local before = redis.call('GET', base .. 'more')
  tools.countAnew()
  local more = redis.call('GET', base .. 'more')
  if (before or '0') ~= more and not (miscounted and miscounted[due]) then note('state_damaged', '', 'more') end
  if not before and more == '0' then redis.call('DEL', base .. 'more') end
  if miscounted then miscounted[due] = nil end
end
tools.settleCounts()
return { #old, #some < most and 0 or from + most, seen[1], lost, notes or {} }
`
