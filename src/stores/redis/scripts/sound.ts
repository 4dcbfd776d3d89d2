/**
 * Lua: whether what was read is as this store wrote it. A verb checks what it reads before it writes, and raises where somebody
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
  local f, i, h, o, L = s.f, s.i, s.h, s.o, s.L
  local w, t, u, n, p, x, S, g = s.w or 0, s.t or 0, s.u or 0, s.n or 0, s.p or 0, s.x or 0, s.s or 0, s.g or 0
  if type(s) == 'table' and (not f or f >= '' and s.q >= '') and (not i or i >= '') and (not h or h >= '')
    and (not o or o >= '') and (not L or L >= '') and w >= 0 and t >= 0 and n >= 0 and p >= 0 and x >= 0 and S >= 0 and g >= 0
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
