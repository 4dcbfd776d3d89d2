/**
 * What is kept of one event. ARGV: now, message, id. Returns its state (due, leased, settled, dead), then, each empty where nobody
 * knows it: attempts, late (1 or 0), time from when it is due or until when it is leased, time of its end, error, order, record
 * and bytes. Nothing where its message does not know it. Writes nothing.
 */
import { PRELUDE } from './prelude.ts'

export const EVENT = /* lua */ `
${PRELUDE}
local mk, id = ARGV[2], ARGV[3]
local m = messageOf(mk)
local found = redis.pcall('HMGET', m, 'd' .. id, 'S')
if found.err or not found[1] then return {} end
local function whole(number) return type(number) == 'number' and number >= 0 and number < 9007199254740992 and ms(number) or '' end
local function text(value) return type(value) == 'string' and value or '' end
local payload = redis.pcall('GET', eventOf(mk, id))
local second = string.match(found[1], '^%d+')
if second then
  local died = redis.pcall('ZSCORE', base .. 'dead', id)
  local dead = type(died) == 'string' and (unpacked(redis.pcall('HGET', base .. 'deadof', id)) or {})
  if not dead then return { 'settled', '', '', '', second .. '000', '', '', text(payload) } end
  return { 'dead', whole(dead.a), dead.l and '1' or '0', '', died, text(dead.E), text(dead.q), text(payload) }
end
local event = unpacked(found[1]) or {}
local state = found[2] and unpacked(found[2]) or {}
local leased = state.u and state.i == id
return { leased and 'leased' or 'due', whole(event.a or 0), event.l and '1' or '0', whole(leased and state.u or event.D), '', '',
  text(event.q), text(payload) }
`
