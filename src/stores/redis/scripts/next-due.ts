/** When the first of these partitions has something due. KEYS as for peek. ARGV: now. Returns now and that time, if any. */
import { PRELUDE } from './prelude.ts'

export const NEXT_DUE = /* lua */ `
${PRELUDE}
local first
for _, key in ipairs(KEYS) do
  local due = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
  if due and (not first or due < first) then first = due end
end
return first and { ms(now), ms(first) } or { ms(now) }
`
