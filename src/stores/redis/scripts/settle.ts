/**
 * Ends attempts: done, to be tried again, or dead. ARGV: now, call, retention, dedupe and dead letters (ms); then for each:
 * place of its key in KEYS, message, id, token, outcome, delay (ms from now), error. Returns for each 1, or 0 where the lease
 * did not hold and nothing changed, or a text that says what is wrong; 1 again to the same call. The first write is one that
 * is allowed where memory is full.
 */
import { ONE_OF_MANY } from './one-of-many.ts'
import { PRELUDE } from './prelude.ts'
import { WAITING } from './waiting.ts'

export const SETTLE = /* lua */ `
${PRELUDE}
${WAITING}
${ONE_OF_MANY}
local FIRST, FIELDS = 6, 7
local retention, dedupe, keepDead = ARGV[3], ARGV[4], tonumber(ARGV[5])

local function bury(mk, id, state, event, text)
  event.m, event.E, event.T = mk, text, now
  redis.call('ZADD', base .. 'dead', ms(now), id)
  redis.call('HSET', base .. 'deadof', id, cmsgpack.pack(event))
  redis.call('PEXPIRE', eventOf(mk, id), ms(keepDead + 86400000))
  state.x = math.max(state.x or 0, now + keepDead)
end

local function settle(at)
  enter(tonumber(ARGV[at]))
  local mk, id, token, outcome = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), ARGV[at + 4]
  local call = ARGV[2] .. '.' .. (at - FIRST) / FIELDS
  local m = messageOf(mk)
  local known, packed = unpack(redis.call('HMGET', m, 'd' .. id, 'S'))
  if not known then return 0 end
  local event = unsettledIn(known)
  if not event then return string.match(known, ' (.*)$') == call and 1 or 0 end
  if event.k ~= token then return 0 end
  if event.c == call then return 1 end
  local state = stateIn(packed)
  if state.w then redis.call('ZCARD', waitingOf(mk)) end

  redis.call('ZREM', due, mk)
  if not state.u or state.t == token then state.u, state.i = nil, nil end
  if outcome == 'retry' then
    event.D, event.c = now + tonumber(ARGV[at + 5]), call
    known = cmsgpack.pack(event)
  else
    known = math.max(1, math.floor(now / 1000)) .. ' ' .. call
    leave(mk, state, id, event.q)
    if outcome == 'dead' then
      bury(mk, id, state, event, ARGV[at + 6])
    elseif retention == '0' then
      redis.call('UNLINK', eventOf(mk, id))
    else
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
  local answer, trouble = try(settle, at)
  if fatal then return fatal end
  answers[#answers + 1] = answer or trouble
end
return answers
`
