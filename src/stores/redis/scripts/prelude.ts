/**
 * What every script begins with. KEYS are due sets of partitions; all other keys are of the same partitions, carry the same
 * hash tags, and are made from their names, so that a client's key prefix is kept: `enter` says of which partition the next
 * ones are. ARGV[1] is the time in milliseconds, or empty for the server's own. Texts are compared by `before`: Lua's `<`
 * heeds the server's locale.
 *
 * The keys of a partition (`due` and what follows it have the same beginning):
 * - `due`: sorted set of the messages that have an unsettled event, by the time from which one of them may be claimed
 * - `m:<message>`: hash. `S` its state; `d<id>` each event seen: the event while it is unsettled, then the second of the
 *   settlement and the call that made it; `F<order>` the final records; `R` the latest record, unless it is a final one
 *   `E` what is expected of the message, as JSON, and `O` once it was said to be overdue; then its state has the step 8
 * - `w:<message>`: sorted set of its unsettled events, in order, without the first, which stands in the state
 * - `e:<message>:<id>`: record, line feed, bytes
 * - `sent`: sorted set of the messages that are expected, by the time of the send; `overdue`: of those of which nobody has decided
 *   whether they are, by when they will be
 * - `more`: number of unsettled events in all `w`; `dead`: sorted set of dead letters; `deadof`: what is known of them;
 *   `call:<id>`: the call that resolved one, and `call:<call>`: what one forgot, for a minute
 *
 * Of processes, where a script may be given several partitions only in the first of them:
 * - `holders`: sorted set of those that may hold leases, by the time of their last sign of life; `holderof`: hash, of each since
 *   when it is there, what tells its process from others, and its name
 * - `buried`: sorted set of those that were taken for dead, by the time of that, for a minute or two
 * - `steady`: hash, `since` when somebody has always shown life, and when it was the `last` time
 * - `sweep`: hash, while leases of the dead are given back: `at` which partition, `from` which time, `since` when
 * - `mark`: a text that stays as long as the server is not emptied
 *
 * None of them is trusted: `message.ts` says what is as it was written, `heal.ts` makes the rest anew.
 *
 * Packed by MessagePack, as fields that may be absent:
 * - a state: `f` `q` its first unsettled event, and the order of that; `w` how many others there are; `t` last token; `u` `i` `H`
 *   the lease: end, event, its token and its holder, who has it if the token is the last; `h` `o` handed over, and the same of
 *   those that are not final; `s` steps seen; `g` steps waited for; `L` latest order; `R` whether there is an `R`; `n` how many
 *   final records; `x` kept until, for a dead letter; `p` fields at which old `d` are swept out; `e` the call that wrote `E`
 * - an event: `q` order, `f` final, `b` step waited for, `D` due, `a` attempts, `k` token, `l` late, `y` replay, `c` the call that
 *   wrote last; a dead letter also `m` message, `E` error, `T` time of death
 */
export const PRELUDE = /* lua */ `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local due, base
local function enter(key)
  due = KEYS[key]
  base = string.sub(due, 1, -4)
end
enter(1)
local function ms(number) return string.format('%.0f', number) end
local function messageOf(mk) return base .. 'm:' .. mk end
local function waitingOf(mk) return base .. 'w:' .. mk end
local function eventOf(mk, id) return base .. 'e:' .. mk .. ':' .. id end
local function stateIn(packed) return packed and cmsgpack.unpack(packed) or {} end
-- What was packed, or nothing where it cannot be read.
local function unpacked(packed)
  local ok, value = pcall(cmsgpack.unpack, packed)
  return ok and type(value) == 'table' and value or nil
end
-- Of a 'd': a packed event has another first byte than a text.
local function unsettledIn(known) return string.byte(known) > 127 and cmsgpack.unpack(known) or nil end
local function before(a, b)
  if a == b then return false end
  local at, most = 1, math.min(#a, #b)
  while at + 7 <= most and string.sub(a, at, at + 7) == string.sub(b, at, at + 7) do at = at + 8 end
  for here = at, most do
    local x, y = string.byte(a, here), string.byte(b, here)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- Whether a later report was handed over already; of two final ones neither is late.
local function isLate(order, final, state)
  return order ~= '' and before(order, (final and state.o or not final and state.h) or '')
end
`

/**
 * For scripts that walk through the keys of partitions: ARGV[2] is the cursor, ARGV[3] how many keys to look at. `places` gives the place
 * in KEYS of each partition, by `base`; `keysLike` asks for keys that end so, and returns the next cursor and those found.
 */
export const WALK = /* lua */ `
local places = {}
for place = 1, #KEYS do
  enter(place)
  places[base] = place
end
local head = string.gsub(string.match(due, '^(.*){') or '', '[%*%?%[%]%^%-\\\\]', '\\\\%0')
local function keysLike(ending)
  return redis.call('SCAN', ARGV[2], 'MATCH', head .. '{*}:' .. ending, 'COUNT', ARGV[3])
end
`
