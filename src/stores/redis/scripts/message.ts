/** Lua: what the scripts of verbs that write share of a message: whether it is sound, and what of it waits. */

/**
 * Whether what was read is as this store wrote it. A verb checks what it reads before it writes, and raises where somebody
 * else has spoilt it: then the message is healed and the verb runs once more, see `try`. What is to be reported is noted: the
 * code, of which event or message, and where.
 */
export const SOUND = /* lua */ `
-- No retry, gap or lease is as long: what is said to be due later was not written by this store.
local LONGEST, MOST, MOST_ATTEMPTS = 31622400000, 9007199254740992, 1000000
local type = type
-- Most calls have nothing to say, and make no tables for it.
local notes, miscounted
local function note(code, of, place)
  notes = notes or {}
  notes[#notes + 1] = { code, of, place }
end

-- A comparison raises by itself where the types are wrong, and costs less than to ask for the type.
local function sound(s)
  local f, i, h, o, L, H = s.f, s.i, s.h, s.o, s.L, s.H
  local w, t, u, n, p, x, S, g = s.w or 0, s.t or 0, s.u or 0, s.n or 0, s.p or 0, s.x or 0, s.s or 0, s.g or 0
  if type(s) == 'table' and (not f or f >= '' and s.q >= '') and (not i or i >= '') and (not h or h >= '')
    and (not o or o >= '') and (not L or L >= '') and (not H or H >= '') and w >= 0 and t >= 0 and n >= 0 and p >= 0 and x >= 0 and S >= 0 and g >= 0
    and u >= 0 and u <= now + LONGEST and w + t + n + p + x + S + g < MOST and (w + t + n + p + S + g) % 1 == 0 then return s end
  error('damaged')
end
local function soundEvent(event)
  local a, k = event.a or 0, event.k or 0
  if type(event) == 'table' and event.q >= '' and event.D <= now + LONGEST
    and a >= 0 and a <= MOST_ATTEMPTS and k >= 0 and k < MOST and (a + k) % 1 == 0 then return event end
  error('damaged')
end

-- Changes the number of waiting events; where it is none, they are counted anew in the end.
local function add(number)
  local sum = redis.pcall('INCRBY', base .. 'more', number)
  if type(sum) == 'number' and sum >= 0 then return end
  if not (miscounted and miscounted[due]) then note('state_damaged', '', 'more') end
  miscounted = miscounted or {}
  miscounted[due] = base
  redis.call('DEL', base .. 'more')
end
`

/** Which unsettled events a message has, and when the first of them may be claimed. */
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

/** For those who make dead letters. */
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

/** For those who end a wait for a step. */
export const CLOSING = /* lua */ `
-- Those that waited for this step wait no longer. Says whether the first one is among them.
local function closeGaps(mk, m, state, step)
  local isFirst = false
  local function close(id)
    local known = redis.call('HGET', m, 'd' .. id)
    local event = unpacked(known)
    if not event or event.b ~= step or event.a or type(event.D) ~= 'number' or event.D <= now then return end
    event.D = now
    redis.call('HSET', m, 'd' .. id, cmsgpack.pack(event))
    if id == state.f then isFirst = true end
  end
  if state.f then close(state.f) end
  if state.w then
    for _, place in ipairs(redis.call('ZRANGE', waitingOf(mk), 0, -1)) do close(string.match(place, '[^ ]*$')) end
  end
  return isFirst
end
`

/** What is expected of a message. Any other message costs a look at its state. */
export const EXPECTED = /* lua */ `
local function isExpected(state) return state.s and bit.band(state.s, 8) ~= 0 end
-- Adds what is expected of it to what is answered of the message, and whether it was overdue.
local function withExpected(answer, m, state)
  if not isExpected(state) then return answer end
  local sent = redis.call('HMGET', m, 'E', 'O')
  if sent[1] then
    answer[#answer + 1] = sent[1]
    answer[#answer + 1] = sent[2] and 1 or 0
  end
  return answer
end
-- Delivered, failed for good or read: the digit of the stage stands behind that of the time.
local function hasEnd(state) return (state.n or 0) > 0 or (string.byte(state.L or '', 13) or 0) >= 51 end
local function expectNothing(mk)
  redis.call('ZREM', base .. 'overdue', mk)
  redis.call('ZREM', base .. 'sent', mk)
  redis.call('HDEL', messageOf(mk), 'E', 'O')
end
`
