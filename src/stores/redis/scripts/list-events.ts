/**
 * Walks through the keys of some partitions, a step at a time, for what they know of events. KEYS: due sets of one slot, or of a
 * server without slots. ARGV: now, cursor, keys a step, id of the one that is wanted or empty. Returns the cursor to go on from,
 * then place of its partition in KEYS, message, id and time of each: the second of its settlement, else when it is due, was to
 * be, or died; empty where that cannot be read. Writes nothing.
 */
import { PRELUDE } from './prelude.ts'

export const LIST_EVENTS = /* lua */ `
${PRELUDE}
local places, only = {}, ARGV[4]
for key = 1, #KEYS do
  enter(key)
  places[base] = key
end
local head = string.match(due, '^(.*){') or ''
local pattern = string.gsub(head, '[%*%?%[%]%^%-\\\\]', '\\\\%0') .. '{*}:m:*'
local found = redis.call('SCAN', ARGV[2], 'MATCH', pattern, 'COUNT', ARGV[3])
local seen = { found[1] }
local function list(place, mk, id, known)
  local second, event = string.match(known, '^%d+'), unpacked(known)
  local died = redis.pcall('ZSCORE', base .. 'dead', id)
  local at = type(died) == 'string' and died or second and second .. '000'
    or event and type(event.D) == 'number' and ms(event.D) or ''
  for _, value in ipairs({ tostring(place), mk, id, at }) do seen[#seen + 1] = value end
end
for _, key in ipairs(found[2]) do
  local place = places[string.sub(key, 1, #base)]
  if place then
    enter(place)
    local mk = string.sub(key, #base + 3)
    if only ~= '' then
      local known = redis.pcall('HGET', key, 'd' .. only)
      if type(known) == 'string' then list(place, mk, only, known) end
    else
      local all = redis.pcall('HGETALL', key)
      for at = 1, all.err and 0 or #all, 2 do
        if string.sub(all[at], 1, 1) == 'd' then list(place, mk, string.sub(all[at], 2), all[at + 1]) end
      end
    end
  end
end
return seen
`
