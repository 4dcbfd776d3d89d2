/**
 * What every script begins with. KEYS[1] is the due set of a partition; all other keys are of the same partition, carry
 * the same hash tag, and are made from its name, so that a client's key prefix is kept. ARGV[1] is the time in
 * milliseconds, or empty for the server's own. Times and numbers are written by `ms`: Lua's own text of 1767225600000 is
 * 1.7672256e+12. Texts are compared by `before`: Lua's `<` heeds the server's locale.
 *
 * The keys of a partition (`due` and what follows it have the same beginning):
 * - `due`: sorted set of messages, by the time from which something of theirs may be claimed
 * - `m:<message>`: hash. `d<id>` each event seen: 0, or the second it was settled; `L` `R` latest order and record (no `R`
 *   where it is a final one), `F<order>` the final records, `n` how many; `h` `o` handed over, and the same of those that are
 *   not final; `s` steps seen; `g` steps waited for; `t` last token; `l` `u` `i` `c` the lease: token, end, event, call; `x`
 *   kept until, for a dead letter; `p` entries at which old `d` are swept out
 * - `w:<message>`: sorted set of its unsettled events, in order
 * - `e:<message>:<id>`: hash. `r` bytes, `j` record, `o` order, `f` final, `w` step waited for, `D` due, `a` attempts, `k` token,
 *   `l` late, `y` replay, `c` the call that wrote last, `z` settled (s) or dead (x), `E` error, `T` time of death
 * - `open`: number of unsettled events; `dead`: sorted set of dead letters; `deadof`: their messages;
 *   `call:<id>`: the call that resolved one, for a minute
 */
export const PRELUDE = /* lua */ `
local base = string.sub(KEYS[1], 1, -4)
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local function ms(number) return string.format('%.0f', number) end
local function messageOf(mk) return base .. 'm:' .. mk end
local function waitingOf(mk) return base .. 'w:' .. mk end
local function eventOf(mk, id) return base .. 'e:' .. mk .. ':' .. id end
local function placeOf(order, id) return order .. ' ' .. id end
local function idAt(place) return string.match(place, '([^ ]*)$') end
local function before(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- Whether a later report was handed over already; of two final ones neither is late.
local function isLate(order, final, handed, handedOpen)
  if final then handed = handedOpen end
  return order ~= '' and before(order, handed or '')
end
`
