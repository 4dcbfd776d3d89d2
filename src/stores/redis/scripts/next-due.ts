/** When the first of these partitions has something due. KEYS as for peek. ARGV: now. Returns now and that time, if any. */
import { PRELUDE } from './prelude.ts'

export const NEXT_DUE = /* lua */ `
${PRELUDE}
local first
for _, key in ipairs(KEYS) do
  local due = tonumber(redis.pcall('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
  if due and (not first or due < first) then first = due end
end
if not first or first >= 8640000000000000 then return { ms(now) } end
return { ms(now), ms(math.max(0, first)) }
`
