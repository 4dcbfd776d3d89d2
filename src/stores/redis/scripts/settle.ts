/**
 * Ends attempts: done, to be tried again, dead, or not begun. ARGV: now, call, retention, dedupe and dead letters (ms); then for each:
 * place of its key in KEYS, message, id, token, outcome, delay (ms from now), error. Returns for each 1, or 0 where the lease
 * did not hold and nothing changed, or a text that says what is wrong; 1 again to the same call. The first write is one that
 * is allowed where memory is full.
 */
import { HEAL } from './heal.ts'
import { ONE_OF_MANY } from './one-of-many.ts'
import { PRELUDE } from './prelude.ts'
import { SOUND } from './sound.ts'
import { BURY, WAITING } from './waiting.ts'

export const SETTLE = /* lua */ `
${PRELUDE}
${SOUND}
${WAITING}
${BURY}
${HEAL}
${ONE_OF_MANY}
local FIRST, FIELDS = 6, 7
local retention, dedupe, keepDead = ARGV[3], ARGV[4], tonumber(ARGV[5])

local function settle(at, again)
  enter(tonumber(ARGV[at]))
  local mk, id, token, outcome = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), ARGV[at + 4]
  local call = ARGV[2] .. '.' .. (at - FIRST) / FIELDS
  local m = messageOf(mk)
  local known, packed = unpack(redis.call('HMGET', m, 'd' .. id, 'S'))
  if not known then
    local state = unpacked(packed)
    if not again and state and state.i == id and state.t == token then error('damaged') end
    return 0
  end
  local event = unsettledIn(known)
  if not event then
    local _, last, by = string.find(known, '^%d+ (.*)$')
    if not last and not again then error('damaged') end
    return by == call and 1 or 0
  end
  soundEvent(event)
  if event.c == call then return 1 end
  if event.k ~= token then return 0 end
  local state = sound(stateIn(packed))
  -- Also where none waits: a message that went to rest would leave them behind.
  if not state.f or redis.call('ZCARD', waitingOf(mk)) ~= (state.w or 0) then error('damaged') end

  redis.call('ZREM', due, mk)
  if not state.u or state.t == token then state.u, state.i = nil, nil end
  if outcome == 'retry' or outcome == 'unbegun' then
    event.D, event.c = now + tonumber(ARGV[at + 5]), call
    if outcome == 'unbegun' then event.a, event.k = event.a - 1, nil end
    known = cmsgpack.pack(event)
  else
    known = math.max(1, math.floor(now / 1000)) .. ' ' .. call
    if outcome == 'dead' then bury(mk, id, state, event, ARGV[at + 6], keepDead) end
    leave(mk, state, id, event.q)
    if outcome == 'done' and retention == '0' then
      redis.call('UNLINK', eventOf(mk, id))
    elseif outcome == 'done' then
      redis.call('PEXPIRE', eventOf(mk, id), retention)
    end
  end
  redis.call('HSET', m, 'd' .. id, known, 'S', cmsgpack.pack(state))
  schedule(mk, state, state.f == id and event)
  if not state.f then redis.call('PEXPIRE', m, ms(math.max(tonumber(dedupe), (state.x or 0) - now))) end
  return 1
end

local answers = {}
for at = FIRST, #ARGV, FIELDS do
  local answer, trouble = try(settle, at, ARGV[at + 1])
  if fatal then return fatal end
  answers[#answers + 1] = answer or trouble
end
if miscounted then healer().settleCounts() end
return { answers, notes }
`
