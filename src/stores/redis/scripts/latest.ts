/**
 * The latest state of a message. ARGV: now, message. Returns its record and the final ones in order, or nothing; where something
 * is spoilt, as much as there is.
 */
import { PRELUDE } from './prelude.ts'

export const LATEST = /* lua */ `
${PRELUDE}
local m = messageOf(ARGV[2])
local found = redis.pcall('HMGET', m, 'S', 'R')
if found.err then return {} end
local state = found[1] and unpacked(found[1]) or {}
local orders, records = {}, {}
if state.n or not state.L or not found[2] then
  local all = redis.call('HGETALL', m)
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, 1) == 'F' then
      orders[#orders + 1] = all[at]
      records[all[at]] = all[at + 1]
    end
  end
  table.sort(orders, before)
end
local answer = { found[2] or type(state.L) == 'string' and records['F' .. state.L] or records[orders[#orders]] or nil }
if not answer[1] then return {} end
for _, order in ipairs(orders) do answer[#answer + 1] = records[order] end
return answer
`
