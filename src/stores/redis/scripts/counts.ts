/** How much is unsettled and dead in all these partitions. ARGV: now. Returns both numbers. */
import { PRELUDE } from './prelude.ts'

export const COUNTS = /* lua */ `
${PRELUDE}
-- What somebody else has spoilt counts for nothing, until prune mends it.
local function count(found)
  local number = type(found) ~= 'table' and tonumber(found) or 0
  return number >= 0 and number < 9007199254740992 and number or 0
end
local unsettled, dead = 0, 0
for key = 1, #KEYS do
  enter(key)
  unsettled = unsettled + count(redis.pcall('ZCARD', due)) + count(redis.pcall('GET', base .. 'more'))
  dead = dead + count(redis.pcall('ZCARD', base .. 'dead'))
end
return { unsettled, dead }
`
