/**
 * One dead letter. ARGV: now, message, id. Returns attempts, error, record and bytes, each empty where it is lost; nothing where
 * it is none.
 */
import { PRELUDE } from './prelude.ts'

export const DEAD_LETTER = /* lua */ `
${PRELUDE}
if not tonumber(redis.pcall('ZSCORE', base .. 'dead', ARGV[3]) or nil) then return {} end
local event = unpacked(redis.pcall('HGET', base .. 'deadof', ARGV[3])) or {}
local payload = redis.pcall('GET', eventOf(ARGV[2], ARGV[3]))
return { type(event.a) == 'number' and event.a >= 0 and event.a < 1000000 and event.a or 0,
  type(event.E) == 'string' and event.E or '', type(payload) == 'string' and payload or '' }
`
