/**
 * The scripts. They compare, run commands and move due times, and do not look into records.
 *
 * Keys are derived from the prefixes of those in KEYS, so that a client's key prefix is kept. The keys of a partition, after
 * its prefix:
 *
 * - `r:<key>`: a record: 12 hexadecimal digits of its version, then its text. Expires if it has no waiting event, dead letter
 *   or send, and is not an overflow record
 * - `s:<key>`: its send: two times and its text
 * - `p:<key>:<id>`: the payload of an event: 15 digits of its admission time, its record as JSON, a line feed, its body
 * - `due`: sorted set of the keys of due records, by time; `leased`: of leased records, by the end of the lease
 * - `more`: set of the events that wait behind another one of their record
 * - `dead`: sorted set of the ids of dead letters, by time of death; `deadof`: hash of their keys and errors
 * - `sent`, `overdue`: sorted sets of the keys of records with a send, by time of sending and by deadline
 * - `overflow`: sorted set (all scores 0) of `<key of the message>:<key>` of overflow records
 * - `pending`: in the first partition; sorted set of the keys of pending sends, by their start; see `pending.ts`
 * - `waited`: written by each call that waits for replicas; expires at once
 * - `mark`, `workers`: in the first partition of a group; see `watching.ts` and `workers.ts`
 */
import { script } from './scripted.ts'

const SERVER_TIME = /* lua */ `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function baseOf(key) return string.match(key, '^.*}:') end
`

export const VERSION_DIGITS = 12
/** Tolerance between the server's clock and a process's estimate of it. */
export const MOST_APART_MS = 2_000
/** The version of a key that does not hold text. */
export const FOREIGN = 'foreign'

/**
 * For each change: runs its commands if the record has the expected version. KEYS: the records, then the set of pending sends
 * if it is asked for. ARGV: the caller's estimate of the server's time, or empty; 1 to allow writes although memory is full; a
 * time after which to look for the first pending send, or empty; 1 to write something in any case, for `WAIT`; then for each
 * change the expected version (empty: no record) and the number of values of its commands; then for each command the number of
 * its values, its name, its key without the prefix, and its arguments. Returns the server's time, the start of that send or empty, and the version found for each change.
 * Writes nothing if the times differ too much.
 */
export const compareAndSet = script(/* lua */ `
${SERVER_TIME}
local answer = { string.format('%.0f', now), '' }
if ARGV[1] ~= '' and math.abs(now - ARGV[1]) > ${MOST_APART_MS} then return answer end
local places = #KEYS
if ARGV[3] ~= '' then
  if redis.call('EXISTS', KEYS[places]) == 1 then
    answer[2] = redis.call('ZRANGEBYSCORE', KEYS[places], '(' .. ARGV[3], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or ''
  end
  places = places - 1
end
-- With full memory, Redis refuses the first write of a script, and no later one. It allows UNLINK.
if ARGV[2] == '1' then redis.call('UNLINK', baseOf(KEYS[1]) .. 'none') end
if ARGV[4] == '1' then
  local reply = redis.pcall('SET', baseOf(KEYS[1]) .. 'waited', '', 'PX', '1000')
  if type(reply) == 'table' and reply.err then return reply end
end
local pcall, type, unpack, tonumber, ARGV = redis.pcall, type, unpack, tonumber, ARGV
local at = 5
for place = 1, places do
  local key = KEYS[place]
  local base = baseOf(key)
  -- Texts, because Redis would convert numbers.
  local found = pcall('GETRANGE', key, '0', '${VERSION_DIGITS - 1}')
  if type(found) == 'table' then found = '${FOREIGN}' end
  local isExpected = found == ARGV[at]
  local ends = at + 2 + tonumber(ARGV[at + 1])
  at = at + 2
  if isExpected then
    while at < ends do
      local last = at + tonumber(ARGV[at])
      local reply = pcall(ARGV[at + 1], base .. ARGV[at + 2], unpack(ARGV, at + 3, last))
      -- Return the error: raising it would wrap the server's message.
      if type(reply) == 'table' and reply.err then return reply end
      at = last + 1
    end
  end
  answer[place + 2] = found
  at = ends
end
return answer
`)

/** Reads texts, and writes something for `WAIT`. KEYS: the keys of the texts. */
export const readWaited = script(/* lua */ `
${SERVER_TIME}
local waited = baseOf(KEYS[1]) .. 'waited'
-- With full memory, Redis allows writes after an UNLINK.
redis.call('UNLINK', waited)
redis.call('SET', waited, '', 'PX', '1000')
return redis.call('MGET', unpack(KEYS))
`)

/**
 * Finds due records, earliest first, and reserves them by moving their times. KEYS: `due` sets. ARGV: now; end of the
 * reservation; limit; 1 to look at expired leases too; then the keys of records to leave out. Returns the server's time; when
 * the next record is due, or empty; then for each found record its key, record and send, nil if missing.
 */
export const reserve = script(/* lua */ `
${SERVER_TIME}
local dueMs, untilMs, limit = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local names = ARGV[4] == '1' and { 'due', 'leased' } or { 'due' }
local excluded = {}
for at = 5, #ARGV do excluded[ARGV[at]] = true end
-- Read each set in parts: the earliest records may be in one set or in all.
local part = math.ceil(limit / (#KEYS * #names)) + 1
local function advance(set)
  repeat
    set.at = set.at + 2
    if set.at > #set.members then
      set.members = redis.call('ZRANGE', set.base .. set.name, set.read, set.read + part - 1, 'WITHSCORES')
      set.read = set.read + part
      set.at = 1
    end
    set.key = set.members[set.at]
  until not excluded[set.key or '']
  set.score = set.key and tonumber(set.members[set.at + 1]) or math.huge
end
local sets = {}
for place = 1, #KEYS do
  for _, name in ipairs(names) do
    local set = { base = baseOf(KEYS[place]), name = name, read = 0, at = 1, members = {} }
    advance(set)
    sets[#sets + 1] = set
  end
end
local function earliest()
  local first = sets[1]
  for at = 2, #sets do
    if sets[at].score < first.score then first = sets[at] end
  end
  return first
end
local found = {}
local first = earliest()
while #found < limit and first.score <= dueMs do
  found[#found + 1] = { first.base, first.name, first.key }
  advance(first)
  first = earliest()
end
local nextMs = first.score < math.huge and string.format('%.0f', first.score) or ''
local answer = { string.format('%.0f', now), nextMs }
-- See above: stored events are dispatched although memory is full.
if #found > 0 then redis.call('UNLINK', baseOf(KEYS[1]) .. 'none') end
-- One call for all keys, because a call costs as much as its work for several keys.
local texts, moved = {}, {}
for at = 1, #found do
  local base, name, key = unpack(found[at])
  texts[#texts + 1] = base .. 'r:' .. key
  texts[#texts + 1] = base .. 's:' .. key
  local set = moved[base .. name] or {}
  moved[base .. name] = set
  set[#set + 1] = untilMs
  set[#set + 1] = key
end
for set, members in pairs(moved) do redis.call('ZADD', set, unpack(members)) end
local values = #texts > 0 and redis.call('MGET', unpack(texts)) or {}
for at = 1, #found do answer[#answer + 1] = { found[at][3], values[2 * at - 1], values[2 * at] } end
return answer
`)

/** `walk` returns this many bytes of a value: the admission time of a payload. */
export const HEAD_DIGITS = 15

/**
 * One step through the keys of a server. ARGV: cursor, pattern of the key without the prefix, number of keys to visit. Returns
 * the next cursor, empty at the end; then for each key found its rest after the prefix and the beginning of its value. Writes
 * nothing.
 */
export const walk = script(/* lua */ `
local head = string.gsub(string.match(KEYS[1], '^(.*){'), '[%*%?%[%]%^%-\\\\]', '\\\\%0')
local step = redis.call('SCAN', ARGV[1], 'MATCH', head .. '{*}:' .. ARGV[2], 'COUNT', ARGV[3])
local answer = { step[1] == '0' and '' or step[1] }
for _, key in ipairs(step[2]) do
  local value = redis.pcall('GETRANGE', key, 0, ${HEAD_DIGITS - 1})
  answer[#answer + 1] = { string.match(key, '}:(.*)$'), type(value) == 'string' and value or '' }
end
return answer
`)
