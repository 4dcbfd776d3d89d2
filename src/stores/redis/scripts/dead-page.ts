/**
 * The oldest dead letters after a place. ARGV: now, time and id of the place (-inf and empty for the beginning), limit.
 * Returns id, message, time, id, message, time, ...; the message is empty where nobody knows it any more. Writes nothing.
 */
import { PRELUDE } from './prelude.ts'

export const DEAD_PAGE = /* lua */ `
${PRELUDE}
local from, after, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local found, offset = {}, 0
while #found < limit * 3 do
  local some = redis.pcall('ZRANGEBYSCORE', base .. 'dead', from, '+inf', 'WITHSCORES', 'LIMIT', offset, limit)
  if some.err or #some == 0 then break end
  offset = offset + #some / 2
  for at = 1, #some, 2 do
    local id, died = some[at], some[at + 1]
    if (died ~= from or before(after, id)) and #found < limit * 3 then
      found[#found + 1] = id
      local dead = unpacked(redis.pcall('HGET', base .. 'deadof', id))
      found[#found + 1] = dead and type(dead.m) == 'string' and dead.m or ''
      found[#found + 1] = died
    end
  end
end
return found
`
