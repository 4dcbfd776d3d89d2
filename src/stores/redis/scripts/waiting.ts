/** Lua: which unsettled events a message has, and when the first of them may be claimed. */
export const WAITING = /* lua */ `
-- Its order, then its id, which has no space.
local function placeOf(order, id) return order .. ' ' .. id end

-- Lets an event wait, unsettled. Says whether it is the first one now. The first write may be refused, and then none is done.
local function join(mk, state, id, order)
  if not state.f then
    state.f, state.q = id, order
    return true
  end
  local first, other = placeOf(state.q, state.f), placeOf(order, id)
  local isFirst = before(other, first)
  if isFirst then
    local event = unpacked(redis.call('HGET', messageOf(mk), 'd' .. state.f))
    if not event or event.q ~= state.q then error('damaged') end
  end
  redis.call('ZADD', waitingOf(mk), 0, isFirst and first or other)
  add(1)
  state.w = (state.w or 0) + 1
  if isFirst then state.f, state.q = id, order end
  return isFirst
end

-- Takes one out; where it was the first one, the next is.
local function leave(mk, state, id, order)
  local isFirst = state.f == id
  if isFirst then state.f, state.q = nil, nil end
  if not state.w then return end
  local place = placeOf(order, id)
  if isFirst then
    place = redis.call('ZRANGE', waitingOf(mk), 0, 0)[1]
    if not place then error('damaged') end
    state.q, state.f = string.match(place, '^(.*) ([^ ]+)$')
    if not state.f then error('damaged') end
  end
  if redis.call('ZREM', waitingOf(mk), place) == 0 then error('damaged') end
  add(-1)
  state.w = state.w > 1 and state.w - 1 or nil
end

-- Enters a message in the due set, where it has an unsettled event: not before its lease ends.
local function schedule(mk, state, event)
  if not state.f then return end
  if not event then event = unpacked(redis.call('HGET', messageOf(mk), 'd' .. state.f)) end
  -- What is wrong with it the next claim will see.
  local at = event and type(event.D) == 'number' and event.D <= now + LONGEST and event.D or now
  redis.call('ZADD', due, ms(math.max(at, state.u or 0)), mk)
end
`

/** Lua: for those who make dead letters. */
export const BURY = /* lua */ `
-- Makes a dead letter of it; its bytes are kept.
local function bury(mk, id, state, event, text, keepDead)
  event.m, event.E, event.T = mk, text, now
  redis.call('ZADD', base .. 'dead', ms(now), id)
  redis.call('HSET', base .. 'deadof', id, cmsgpack.pack(event))
  redis.call('PEXPIRE', eventOf(mk, id), ms(keepDead + 86400000))
  state.x = math.max(state.x or 0, now + keepDead)
end
`
