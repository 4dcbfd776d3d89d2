/**
 * What is due, and when the next is. KEYS: due sets of one slot, or of a server without slots. ARGV: now, most of each.
 * Returns now, then for each key a list of message, time, message, time, ... Writes nothing; one that is no set has nothing due,
 * until prune or the next event mends it.
 */
import { PRELUDE } from './prelude.ts'

export const PEEK = /* lua */ `
${PRELUDE}
local seen = { ms(now) }
for at, key in ipairs(KEYS) do
  local set = redis.pcall('ZRANGE', key, 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
  seen[at + 1] = set.err and {} or set
end
return seen
`
