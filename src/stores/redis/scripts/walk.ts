/**
 * Walks through the keys of some partitions, a step at a time, for what no verb would meet any more: a message that waits and is
 * not due in time, an event that its message does not know, the message of a dead letter. KEYS: due sets of one slot, or of a server
 * without slots. ARGV: now, cursor, keys a step, dedupe, retention (ms), ids of dead letters that the message is not known of.
 * Returns the cursor to go on from, and what is to be reported.
 */
import { HEAL } from './heal.ts'
import { ONE_OF_MANY } from './one-of-many.ts'
import { PRELUDE } from './prelude.ts'
import { SOUND } from './sound.ts'
import { WAITING } from './waiting.ts'

export const WALK = /* lua */ `
${PRELUDE}
${SOUND}
${WAITING}
${HEAL}
${ONE_OF_MANY}
local dedupe, retention = ARGV[4], ARGV[5]
local places, lost = {}, {}
for key = 1, #KEYS do
  enter(key)
  places[base] = key
end
for at = 6, #ARGV do lost[ARGV[at]] = true end

local function walkMessage(mk, again)
  local m = messageOf(mk)
  local packed = redis.call('HGET', m, 'S')
  if not packed and again then return end
  local state = sound(stateIn(packed or error('damaged')))
  if not state.f then
    if redis.call('PTTL', m) == -1 then redis.call('PEXPIRE', m, ms(math.max(tonumber(dedupe), (state.x or 0) - now))) end
    return
  end
  local known = redis.call('HGET', m, 'd' .. state.f)
  local event = soundEvent(known and unsettledIn(known) or error('damaged'))
  local score = tonumber(redis.call('ZSCORE', due, mk) or nil)
  if not score or score > math.max(event.D, state.u or 0, now) + 1000 then error('damaged') end
end

local function walkEvent(mk, id)
  local e = eventOf(mk, id)
  local life = redis.call('PTTL', e)
  local died = life >= 0 and lost[id] and redis.call('ZSCORE', base .. 'dead', id)
  if died then
    redis.call('HSET', base .. 'deadof', id, cmsgpack.pack({ m = mk, q = '', T = tonumber(died), E = '' }))
    note('state_damaged', id, 'deadof')
  end
  if life ~= -1 then return end
  local known = redis.call('HGET', messageOf(mk), 'd' .. id)
  if not known then return healer().heal(mk, 'm', id) end
  if string.match(known, '^%d+ ') then
    if retention == '0' then redis.call('UNLINK', e) else redis.call('PEXPIRE', e, retention) end
  end
end

local function walk(key, again)
  local mk = string.sub(key, #base + 3)
  local kind = string.sub(key, #base + 1, #base + 2)
  if kind == 'm:' then walkMessage(mk, again)
  elseif kind == 'w:' then
    if not redis.call('ZSCORE', due, mk) and not again then error('damaged') end
  elseif kind == 'e:' then
    local of, id = string.match(mk, '^(.*):([^:]*)$')
    if of then walkEvent(of, id) end
  end
end

local head = string.match(due, '^(.*){') or ''
local pattern = string.gsub(head, '[%*%?%[%]%^%-\\\\]', '\\\\%0') .. '{*'
local found = redis.call('SCAN', ARGV[2], 'MATCH', pattern, 'COUNT', ARGV[3])
for _, key in ipairs(found[2]) do
  local place = places[string.sub(key, 1, #base)]
  if place then
    enter(place)
    local of = string.sub(key, #base + 3)
    if string.sub(key, #base + 1, #base + 1) == 'e' then of = string.match(of, '^(.*):[^:]*$') end
    try(walk, key, of)
    if fatal then return fatal end
  end
end
if miscounted then healer().settleCounts() end
return { found[1], notes }
`
