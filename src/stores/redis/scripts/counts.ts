/** How much is unsettled and dead in all these partitions. ARGV: now. Returns both numbers. */
import { PRELUDE } from './prelude.ts'

export const COUNTS = /* lua */ `
${PRELUDE}
local unsettled, dead = 0, 0
for key = 1, #KEYS do
  enter(key)
  unsettled = unsettled + redis.call('ZCARD', due) + (tonumber(redis.call('GET', base .. 'more')) or 0)
  dead = dead + redis.call('ZCARD', base .. 'dead')
end
return { unsettled, dead }
`
