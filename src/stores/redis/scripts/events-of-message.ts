/** The events that a message knows. ARGV: now, message. Returns their ids. Writes nothing. */
import { PRELUDE } from './prelude.ts'

export const EVENTS_OF_MESSAGE = /* lua */ `
${PRELUDE}
local fields, ids = redis.pcall('HKEYS', messageOf(ARGV[2])), {}
for _, field in ipairs(fields.err and {} or fields) do
  if string.sub(field, 1, 1) == 'd' then ids[#ids + 1] = string.sub(field, 2) end
end
return ids
`
