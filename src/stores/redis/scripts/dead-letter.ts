/** One dead letter. ARGV: now, message, id. Returns attempts, error, time of death, record and bytes; nothing where it is none. */
import { PRELUDE } from './prelude.ts'

export const DEAD_LETTER = /* lua */ `
${PRELUDE}
local e = eventOf(ARGV[2], ARGV[3])
if redis.call('HGET', e, 'z') ~= 'x' then return {} end
return redis.call('HMGET', e, 'a', 'E', 'T', 'j', 'r')
`
