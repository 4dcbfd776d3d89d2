/**
 * What is due, and when the next is. KEYS: due sets of one slot, or of a server without slots. ARGV: now, most of each.
 * Returns now, then for each key a list of message, time, message, time, ... Writes nothing.
 */
import { PRELUDE } from './prelude.ts'

export const PEEK = /* lua */ `
${PRELUDE}
local seen = { ms(now) }
for at, key in ipairs(KEYS) do
  seen[at + 1] = redis.call('ZRANGE', key, 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
end
return seen
`
