/** The latest state of a message. ARGV: now, message. Returns its record and the final ones in order, or nothing. */
import { PRELUDE } from './prelude.ts'

export const LATEST = /* lua */ `
${PRELUDE}
local m = messageOf(ARGV[2])
local packed, record = unpack(redis.call('HMGET', m, 'S', 'R'))
local state = stateIn(packed)
if not state.L then return {} end
local orders, records = {}, {}
if state.n then
  local all = redis.call('HGETALL', m)
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, 1) == 'F' then
      orders[#orders + 1] = all[at]
      records[all[at]] = all[at + 1]
    end
  end
  table.sort(orders, before)
end
local found = { record or records['F' .. state.L] }
for _, order in ipairs(orders) do found[#found + 1] = records[order] end
return found
`
