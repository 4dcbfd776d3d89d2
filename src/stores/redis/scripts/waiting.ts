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
  redis.call('ZADD', waitingOf(mk), 0, isFirst and first or other)
  redis.call('INCR', base .. 'more')
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
    if not place then
      state.w = nil
      return
    end
    state.q, state.f = string.match(place, '^(.*) (.*)$')
  end
  redis.call('ZREM', waitingOf(mk), place)
  redis.call('DECR', base .. 'more')
  state.w = state.w > 1 and state.w - 1 or nil
end

-- Enters a message in the due set, where it has an unsettled event: not before its lease ends.
local function schedule(mk, state, event)
  if not state.f then return end
  if not event then
    local known = redis.call('HGET', messageOf(mk), 'd' .. state.f)
    event = known and unsettledIn(known)
  end
  redis.call('ZADD', due, ms(math.max(event and event.D or now, state.u or 0)), mk)
end
`
