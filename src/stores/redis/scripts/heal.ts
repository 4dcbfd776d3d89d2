/** Lua: how a script that writes goes on where somebody else has spoilt what it needs. */
import { SOUND, WAITING } from './message.ts'
import { PRELUDE } from './prelude.ts'

/**
 * Makes a message anew of which somebody else has spoilt a key, as far as its events tell. An event waits where its bytes
 * are kept for ever, and is settled or dead where they have an end.
 */
const HEAL = /* lua */ `
-- One function, so that calls that heal nothing do not make the others.
local function healer()
-- Counts what waits in this partition: a look at each of its messages.
local function countAnew()
  local more = 0
  for _, mk in ipairs(redis.call('ZRANGE', due, 0, -1)) do
    local card = redis.pcall('ZCARD', waitingOf(mk))
    if type(card) == 'number' then more = more + card end
  end
  redis.call('SET', base .. 'more', ms(more))
end

-- To be called when all else is done.
local function settleCounts()
  for key, of in pairs(miscounted or {}) do
    due, base = key, of
    countAnew()
  end
end

-- A key that belongs to all messages of a partition and holds something else is emptied: prune finds again what stood there.
local function mendPartition()
  for name, kind in pairs({ due = 'zset', dead = 'zset', deadof = 'hash', more = 'string', sent = 'zset', overdue = 'zset' }) do
    local found = redis.call('TYPE', base .. name).ok
    if found ~= kind and found ~= 'none' then
      redis.call('UNLINK', base .. name)
      -- The walk enters in both what it does not find in the one.
      if name == 'overdue' then redis.call('UNLINK', base .. 'sent') end
      note('state_damaged', '', name)
      if name == 'more' then
        miscounted = miscounted or {}
        miscounted[due] = base
      end
    end
  end
end

local function whole(number, most)
  return type(number) == 'number' and number >= 0 and number < most and number % 1 == 0
end

-- Makes a message anew from what can be read of its keys. May be told what is wrong already, and of an event of its.
local function heal(mk, spoilt, orphan)
  local m, w = messageOf(mk), waitingOf(mk)
  local wasDue = redis.call('ZREM', due, mk) == 1
  local function say(what) spoilt = spoilt or what end
  for key, kind in pairs({ [m] = 'hash', [w] = 'zset' }) do
    local found = redis.call('TYPE', key).ok
    if found ~= kind and found ~= 'none' then
      redis.call('UNLINK', key)
      say(key == m and 'm' or 'w')
    end
  end

  local all = redis.call('HGETALL', m)
  local packed, hasLatest, finals, finalCount, greatest, expects = nil, false, {}, 0, nil, false
  local ids, events, settled, unreadable = {}, {}, {}, {}
  for at = 1, #all, 2 do
    local kind, name, value = string.sub(all[at], 1, 1), string.sub(all[at], 2), all[at + 1]
    if all[at] == 'S' then packed = value
    elseif all[at] == 'R' then hasLatest = true
    elseif all[at] == 'E' then expects = true
    elseif kind == 'F' then
      finals[name], finalCount = true, finalCount + 1
      if not greatest or before(greatest, name) then greatest = name end
    elseif kind == 'd' then
      if string.match(value, '^%d+ ') then settled[name] = true
      else
        events[name] = unpacked(value)
        ids[name] = true
        if not events[name] then unreadable[name] = true end
      end
    end
  end

  -- What can be kept of the state.
  local old, state = unpacked(packed), {}
  if packed and not old then say('S') end
  for field, most in pairs({ w = MOST, t = MOST / 8, u = now + LONGEST, n = MOST, p = MOST / 8, x = MOST / 8, s = 2147483648,
    g = 2147483648, f = 0, q = 0, i = 0, h = 0, o = 0, L = 0, H = 0 }) do
    local value = old and old[field]
    if value ~= nil then
      if most == 0 and type(value) == 'string' or most > 0 and whole(value, most) then state[field] = value
      else say('S.' .. field) end
    end
  end

  if expects then state.s = bit.bor(state.s or 0, 8) end

  local places, members, scored = {}, {}, redis.call('ZRANGE', w, 0, -1, 'WITHSCORES')
  for at = 1, #scored, 2 do
    local member = scored[at]
    members[#members + 1] = member
    if scored[at + 1] ~= '0' then
      redis.call('ZADD', w, 0, member)
      say('w')
    end
    local order, id = string.match(member, '^(.*) ([^ ]+)$')
    if id then places[id], ids[id] = order, true else say('w') end
  end
  if state.f then ids[state.f] = true end
  if orphan then ids[orphan] = true end

  local changes, waiting, token = {}, {}, 0
  local function forgetKnown(id)
    changes[#changes + 1] = 'd' .. id
    changes[#changes + 1] = math.max(1, math.floor(now / 1000)) .. ' '
    say('d')
  end
  for id in pairs(ids) do
    local event, isListed = events[id], places[id] or state.f == id
    -- -2 where there is none, -1 for ever: it waits; else it is settled, or dead.
    local life = (isListed or not settled[id]) and redis.call('PTTL', eventOf(mk, id)) or 0
    if settled[id] and life ~= -1 then say('w')
    elseif unreadable[id] and (life >= 0 or life == -2 and not isListed) then forgetKnown(id)
    elseif not event and not unreadable[id] and life ~= -1 then say(places[id] and 'w' or 'S.f')
    else
      local made = not event
      if made then
        event = {}
        say('d')
      end
      if life >= 0 then redis.call('PERSIST', eventOf(mk, id)) end
      -- Of two orders the earlier one: better a report that comes as itself where it was late.
      local order = type(event.q) == 'string' and event.q or nil
      for _, other in ipairs({ places[id] or false, state.f == id and state.q or false }) do
        if other and (not order or before(other, order)) then order = other end
      end
      order = order or ''
      local holds = state.i == id and state.u
      local fixed = { q = order, f = event.f == true or finals[order] or nil, b = whole(event.b, 2147483648) and event.b or nil,
        D = type(event.D) == 'number' and event.D <= now + LONGEST and event.D or now,
        a = whole(event.a, MOST_ATTEMPTS) and event.a or holds and 1 or nil,
        k = whole(event.k, MOST / 8) and event.k or holds and state.t or nil,
        y = event.y == true or nil, c = type(event.c) == 'string' and event.c or nil }
      if made or event.l ~= nil and type(event.l) ~= 'boolean' then fixed.l = isLate(order, fixed.f, state) or nil
      else fixed.l = event.l or nil end
      for _, field in ipairs({ 'q', 'f', 'b', 'D', 'a', 'k', 'y', 'c', 'l' }) do
        if fixed[field] ~= (event[field] or nil) then
          say('d.' .. field)
          made = true
        end
      end
      if made then
        changes[#changes + 1] = 'd' .. id
        changes[#changes + 1] = cmsgpack.pack(fixed)
      end
      token = math.max(token, fixed.k or 0)
      waiting[#waiting + 1] = { placeOf(order, id), id, fixed }
    end
  end
  table.sort(waiting, function(a, b) return before(a[1], b[1]) end)

  local first, others = waiting[1], math.max(0, #waiting - 1)
  -- How many were counted: what the state says, where nothing contradicts it.
  local counted = old and (state.w or 0) or #members
  if counted ~= #members then counted = (counted == others or #members == others) and others or #members end
  if not packed and (first or #all > 0) then say('S') end
  if old and (state.f ~= (first and first[2]) or state.q ~= (first and first[3].q)) then say('S.f') end
  if counted ~= others or #members ~= others then say('w') end
  state.f, state.q, state.w = first and first[2], first and first[3].q, others > 0 and others or nil
  local wanted = {}
  for at = 2, #waiting do wanted[waiting[at][1]] = true end
  for _, member in ipairs(members) do
    if wanted[member] then wanted[member] = nil else
      redis.call('ZREM', w, member)
      say('w')
    end
  end
  for member in pairs(wanted) do
    redis.call('ZADD', w, 0, member)
    say('w')
  end
  if others ~= counted then add(others - counted) end

  -- A token that nobody can hold.
  if not state.t or state.t < token then state.t = packed and math.max(token, now) or token > 0 and token or nil end
  state.n, state.R = finalCount > 0 and finalCount or nil, hasLatest or nil
  if not state.L and (hasLatest or finalCount > 0 or first) then
    state.L = greatest or ''
    for _, order in ipairs({ state.h or '', state.o or '' }) do
      if before(state.L, order) then state.L = order end
    end
    for _, each in ipairs(waiting) do
      if hasLatest and before(state.L, each[3].q) then state.L = each[3].q end
    end
    if state.L == '' and not hasLatest then state.L = nil end
  end
  if #all > 0 or first then
    changes[#changes + 1] = 'S'
    changes[#changes + 1] = cmsgpack.pack(state)
    for at = 1, #changes, 2 do redis.call('HSET', m, changes[at], changes[at + 1]) end
  end
  if first then
    redis.call('PERSIST', m)
    schedule(mk, state, first[3])
    if not wasDue then say('due') end
  end
  if spoilt then note('state_damaged', mk, spoilt) end
end
return { heal = heal, mendPartition = mendPartition, settleCounts = settleCounts, countAnew = countAnew, whole = whole }
end
`

/**
 * What a script does for each of many. What is wrong with the keys of one is mended, and it is done once more; where that
 * does not help, it is no reason to leave the others. What is wrong with the server is `fatal`, and the script ends with it.
 */
const ONE_OF_MANY = /* lua */ `
local fatal

-- Returns what it returned, or nothing and what went wrong. \`again\`: all that could be mended was. Mends the message \`mk\`.
local function try(work, at, mk)
  local ok, answer = pcall(work, at)
  if ok then return answer end
  local function troubleIn(answer)
    local text = type(answer) == 'table' and answer.err or tostring(answer)
    -- Redis 6 says first where it was.
    text = string.gsub(text, '^@?user_script: ?%d+: ?%-?', '')
    local word = string.match(text, '^(%u+) ')
    if word and word ~= 'ERR' and word ~= 'WRONGTYPE' then fatal = redis.error_reply(text) end
    return word and text or 'ERR ' .. text
  end
  local trouble = troubleIn(answer)
  if fatal then return nil, trouble end
  local tools = healer()
  ok, answer = pcall(tools.mendPartition)
  if ok and mk then ok, answer = pcall(tools.heal, mk) end
  if ok then
    ok, answer = pcall(work, at, true)
    if ok then return answer end
  end
  return nil, troubleIn(answer)
end
`

/** What every script that writes begins with. */
export const WRITING = /* lua */ `
${PRELUDE}
${SOUND}
${WAITING}
${HEAL}
${ONE_OF_MANY}
`
