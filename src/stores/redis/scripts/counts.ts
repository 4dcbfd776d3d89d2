/** How much is unsettled and dead in all these partitions. ARGV: now. Returns both numbers. */
import { PRELUDE } from './prelude.ts'

export const COUNTS = /* lua */ `
${PRELUDE}
local unsettled, dead = 0, 0
for _, key in ipairs(KEYS) do
  local partition = string.sub(key, 1, -4)
  unsettled = unsettled + (tonumber(redis.call('GET', partition .. 'open')) or 0)
  dead = dead + redis.call('ZCARD', partition .. 'dead')
end
return { unsettled, dead }
`
