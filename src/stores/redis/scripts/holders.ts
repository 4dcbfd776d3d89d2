/**
 * Lua: who may hold leases, and what they hold. The holders of a group of partitions are kept in the first of them: its due
 * set is the last of KEYS. Follows `WRITING`.
 */

/** For those who take leases: only one who is among `holders` may. */
export const KNOWN = /* lua */ `
local home = string.sub(KEYS[#KEYS], 1, -4)
local function isKnown(holder) return type(redis.pcall('ZSCORE', home .. 'holders', holder)) == 'string' end
`

/**
 * For those who change who is known. Who was taken for dead stands among `buried`, for as long as a command of its may still
 * arrive. Who is neither known nor buried was lost by the store: it lives if it says so. One function, so that calls that
 * need none of it do not make the others.
 */
export const KEEPING = /* lua */ `
${KNOWN}
local function keeper()
local holders, holderof, buried = home .. 'holders', home .. 'holderof', home .. 'buried'
local sweep, steady = home .. 'sweep', home .. 'steady'
local function isBuried(holder) return type(redis.pcall('ZSCORE', buried, holder)) == 'string' end

-- One of their keys that holds something else is emptied: who lives is entered again.
local function mend()
  for key, kind in pairs({ [holders] = 'zset', [holderof] = 'hash', [buried] = 'zset', [sweep] = 'hash', [steady] = 'hash' }) do
    local found = redis.call('TYPE', key).ok
    if found ~= kind and found ~= 'none' then
      redis.call('UNLINK', key)
      note('state_damaged', '', string.sub(key, #home + 1))
    end
  end
end

-- It has shown life. The first write is one that is allowed where memory is full.
local function enter(holder)
  redis.call('ZREM', holders, holder)
  redis.call('ZADD', holders, ms(now), holder)
end
return { holders = holders, holderof = holderof, buried = buried, sweep = sweep, steady = steady, isBuried = isBuried, mend = mend, enter = enter }
end
`

/** What stands under leases, and whose they are. Needs nothing but the prelude. */
export const LEASES = /* lua */ `
-- Who has the lease of this message; nobody where a version took it that knew no holders, and left the name of the last one.
local function holderIn(state)
  if type(state.H) ~= 'string' or type(state.u) ~= 'number' or state.u <= now then return end
  local token, holder = string.match(state.H, '^(%d+) (%d+)$')
  return token and tonumber(token) == state.t and holder or nil
end

-- Some of the messages that are due later than that, or then, and where the next begin; nothing where there are no more.
local function pageFrom(from, most)
  local page = redis.pcall('ZRANGEBYSCORE', due, from, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  if page.err then return {} end
  local last = page[#page]
  if #page == 2 * most and page[2] == last then return redis.call('ZRANGEBYSCORE', due, last, last), '(' .. last end
  local isCut, members = #page == 2 * most, {}
  for at = 1, #page, 2 do
    if not isCut or page[at + 1] ~= last then members[#members + 1] = page[at] end
  end
  return members, isCut and last or nil
end
`
