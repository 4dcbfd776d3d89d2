/** One dead letter. ARGV: now, message, id. Returns attempts, error, time of death, record and bytes; nothing where it is none. */
import { PRELUDE } from './prelude.ts'

export const DEAD_LETTER = /* lua */ `
${PRELUDE}
local packed, payload = redis.call('HGET', base .. 'deadof', ARGV[3]), redis.call('GET', eventOf(ARGV[2], ARGV[3]))
if not packed or not payload then return {} end
local event = cmsgpack.unpack(packed)
return { event.a or 0, event.E, event.T, payload }
`
