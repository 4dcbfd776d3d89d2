/**
 * Leases messages and hands out the first event of each; a message that somebody else holds or that is not due is left
 * out, and one whose keys are broken is put off for a minute. Run again by the same call, it gives the same.
 *
 * ARGV: now, lease (ms); then for each: place of its key in KEYS, message, call. Returns for each handed out: message, id,
 * token, attempt, late, replay, record and bytes. The first write is one that is allowed where memory is full: what is handed
 * over makes room.
 */
import { ONE_OF_MANY } from './one-of-many.ts'
import { PRELUDE } from './prelude.ts'
import { WAITING } from './waiting.ts'

export const CLAIM = /* lua */ `
${PRELUDE}
${WAITING}
${ONE_OF_MANY}
local FIRST, FIELDS = 3, 3
local leaseEnd = now + tonumber(ARGV[2])

-- Writes nothing.
local function look(at)
  enter(tonumber(ARGV[at]))
  local mk, call = ARGV[at + 1], ARGV[at + 2]
  local m = messageOf(mk)
  local packed = redis.call('HGET', m, 'S')
  local state = stateIn(packed)
  local plan = { at = at, mk = mk, call = call, state = state, packed = packed }
  if state.w then redis.call('ZCARD', waitingOf(mk)) end
  if not state.f then return plan end
  plan.held = state.u and state.u > now
  local id = plan.held and state.i or state.f
  local known = redis.call('HGET', m, 'd' .. id)
  local event = known and unsettledIn(known)
  if plan.held and (not event or event.c ~= call) then return false end
  plan.payload = event and redis.call('GET', eventOf(mk, id))
  if not plan.payload then
    plan.gone, plan.order = id, event and event.q or state.q
  elseif plan.held or event.D <= now then
    plan.id, plan.event = id, event
  end
  return plan
end

local function put(plan, known)
  redis.call('HSET', messageOf(plan.mk), 'S', cmsgpack.pack(plan.state), unpack(known))
end

local plans = {}
for at = FIRST, #ARGV, FIELDS do
  local plan, trouble = try(look, at)
  if fatal then return fatal end
  if trouble then plan = { at = at, mk = ARGV[at + 1], broken = true } end
  if plan then plans[#plans + 1] = plan end
end

local claims = {}
for _, plan in ipairs(plans) do
  enter(tonumber(ARGV[plan.at]))
  local mk, state, event = plan.mk, plan.state, plan.event
  if not plan.held then redis.call('ZREM', due, mk) end
  if plan.broken then
    redis.call('ZADD', due, ms(now + 60000), mk)
  elseif event then
    if not plan.held then
      state.t = (state.t or 0) + 1
      state.u, state.i = leaseEnd, plan.id
      event.a, event.k, event.c = (event.a or 0) + 1, state.t, plan.call
      if before(state.h or '', event.q) then state.h = event.q end
      if not event.f and before(state.o or '', event.q) then state.o = event.q end
      put(plan, { 'd' .. plan.id, cmsgpack.pack(event) })
      redis.call('ZADD', due, ms(leaseEnd), mk)
    end
    claims[#claims + 1] = { mk, plan.id, event.k, event.a, event.l and 1 or 0, event.y and 1 or 0, plan.payload }
  elseif plan.packed then
    if plan.gone then leave(mk, state, plan.gone, plan.order) end
    state.u, state.i = nil, nil
    put(plan, {})
    schedule(mk, state)
  end
end
return claims
`
