/**
 * Leases messages and hands out the first event of each; a message that somebody else holds or that is not due is left
 * out. One of which nothing but its name is left becomes a dead letter; a message that cannot be healed is put off for a minute.
 * Run again by the same call, it gives the same.
 *
 * ARGV: now, lease (ms), dead letters (ms); then for each: place of its key in KEYS, message, call. Returns for each handed out:
 * message, id, token, attempt, late, replay, record and bytes; and what is to be reported. The first write is one that is allowed
 * where memory is full: what is handed over makes room.
 */
import { MessagingWebhooksError } from '../../../errors.ts'
import { HEAL } from './heal.ts'
import { ONE_OF_MANY } from './one-of-many.ts'
import { PRELUDE } from './prelude.ts'
import { SOUND } from './sound.ts'
import { BURY, WAITING } from './waiting.ts'

const LOST = JSON.stringify(new MessagingWebhooksError('event_damaged').message)

export const CLAIM = /* lua */ `
${PRELUDE}
${SOUND}
${WAITING}
${BURY}
${HEAL}
${ONE_OF_MANY}
local FIRST, FIELDS = 4, 3
local leaseEnd, keepDead = now + tonumber(ARGV[2]), tonumber(ARGV[3])

local claims = {}
local function claim(at, again)
  enter(tonumber(ARGV[at]))
  local mk, call = ARGV[at + 1], ARGV[at + 2]
  local m = messageOf(mk)
  local packed = redis.call('HGET', m, 'S')
  local state = packed and sound(stateIn(packed)) or {}
  if not state.f then
    if not again then error('damaged') end
    redis.call('ZREM', due, mk)
    return
  end
  if state.w and redis.call('ZCOUNT', waitingOf(mk), 0, 0) ~= state.w then error('damaged') end
  local held = state.u and state.u > now
  local id = held and state.i or state.f
  local known = id and redis.call('HGET', m, 'd' .. id)
  local event = known and unsettledIn(known)
  if held and (not event or event.c ~= call) then return end
  if not event or soundEvent(event).q ~= state.q and id == state.f then error('damaged') end
  local payload = redis.pcall('GET', eventOf(mk, id))
  if type(payload) ~= 'string' then
    redis.call('ZREM', due, mk)
    redis.call('UNLINK', eventOf(mk, id))
    redis.call('SET', eventOf(mk, id), '')
    bury(mk, id, state, event, ${LOST}, keepDead)
    leave(mk, state, id, event.q)
    state.u, state.i = nil, nil
    redis.call('HSET', m, 'd' .. id, math.max(1, math.floor(now / 1000)) .. ' ' .. call, 'S', cmsgpack.pack(state))
    schedule(mk, state)
    note('event_damaged', id, 'e')
    return
  end
  if not held then
    redis.call('ZREM', due, mk)
    if event.D > now then
      state.u, state.i = nil, nil
      redis.call('HSET', m, 'S', cmsgpack.pack(state))
      schedule(mk, state, event)
      return
    end
    -- Above every token that an event of its has had, whatever became of the state meanwhile.
    state.t = math.max(state.t or 0, event.k or 0) + 1
    state.u, state.i = leaseEnd, id
    event.a, event.k, event.c = (event.a or 0) + 1, state.t, call
    if before(state.h or '', event.q) then state.h = event.q end
    if not event.f and before(state.o or '', event.q) then state.o = event.q end
    redis.call('HSET', m, 'S', cmsgpack.pack(state), 'd' .. id, cmsgpack.pack(event))
    redis.call('ZADD', due, ms(leaseEnd), mk)
  end
  claims[#claims + 1] = { mk, id, event.k, event.a, event.l and 1 or 0, event.y and 1 or 0, payload }
end

for at = FIRST, #ARGV, FIELDS do
  local _, trouble = try(claim, at, ARGV[at + 1])
  if fatal then return fatal end
  if trouble then redis.call('ZADD', due, ms(now + 60000), ARGV[at + 1]) end
end
if miscounted then healer().settleCounts() end
return { claims, notes }
`
