/**
 * Forgets dead letters that are too old; everything else expires by itself. ARGV: now, age (ms), most of them. Returns how
 * many it forgot.
 */
import { PRELUDE } from './prelude.ts'

export const PRUNE = /* lua */ `
${PRELUDE}
local old = redis.call('ZRANGEBYSCORE', base .. 'dead', '-inf', '(' .. ms(now - tonumber(ARGV[2])), 'LIMIT', 0, tonumber(ARGV[3]))
for _, id in ipairs(old) do
  local packed = redis.call('HGET', base .. 'deadof', id)
  redis.call('ZREM', base .. 'dead', id)
  redis.call('HDEL', base .. 'deadof', id)
  if packed then redis.call('DEL', eventOf(cmsgpack.unpack(packed).m, id)) end
end
return #old
`
