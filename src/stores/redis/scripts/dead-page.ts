/**
 * The oldest dead letters after a place. ARGV: now, time and id of the place (-1 and empty for the beginning), limit.
 * Returns id, message, time, id, message, time, ... Writes nothing.
 */
import { PRELUDE } from './prelude.ts'

export const DEAD_PAGE = /* lua */ `
${PRELUDE}
local from, after, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local found, offset = {}, 0
while #found < limit * 3 do
  local some = redis.call('ZRANGEBYSCORE', base .. 'dead', from, '+inf', 'WITHSCORES', 'LIMIT', offset, limit)
  if #some == 0 then break end
  offset = offset + #some / 2
  for at = 1, #some, 2 do
    local id, died = some[at], some[at + 1]
    if (died ~= from or before(after, id)) and #found < limit * 3 then
      found[#found + 1] = id
      local packed = redis.call('HGET', base .. 'deadof', id)
      found[#found + 1] = packed and cmsgpack.unpack(packed).m or ''
      found[#found + 1] = died
    end
  end
end
return found
`
