/**
 * The scripts. They compare, run commands and move due times; they know nothing of what a record says.
 *
 * All other keys are made from the beginning of those in KEYS, so that a client's key prefix is kept. The keys of a partition, each after
 * that beginning:
 * - `r:<key>`: a record: 12 hexadecimal digits of its version, then its text. It expires when nothing of it waits, is dead, or was sent
 * - `s:<key>`: what was sent: its two times and its text
 * - `p:<key>:<id>`: the payload of an event: 15 digits of when it was admitted, its record as JSON, a line feed, its body
 * - `due`: sorted set of the keys of records that have something to run, by when; `leased`: of those under a lease, by its end
 * - `more`: set of the events that wait behind another one of their record
 * - `dead`: sorted set of the ids of dead letters by when they died; `deadof`: hash of their keys and errors
 * - `sent`, `overdue`: sorted sets of the keys of records with a send, by when it was sent, and by when it is overdue
 * - `overflow`: sorted set (all scores 0) of `<key of the message>:<key>` for records of single events that had no place in their message
 * - `mark`, `workers`: in the first partition of a group; see `watching.ts` and `workers.ts`
 */
import { script } from './scripted.ts'

const SERVER_TIME = /* lua */ `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function baseOf(key) return string.match(key, '^.*}:') end
`

/** Digits of a version. */
export const VERSION_DIGITS = 12
/** The server's clock may be so far from what a process takes it for. */
export const MOST_APART_MS = 2_000
/** A key that holds something else than a text has this for a version. */
export const FOREIGN = 'foreign'

/**
 * For each change: runs its commands if the record has the expected version. KEYS: the records. ARGV: what the caller takes for the
 * server's time, or empty; 1 if it may write although memory is full; then for each change the expected version (empty: there is no
 * record), and how many values its commands have; then these: of each command how many values follow, its name, its key after the
 * beginning, its arguments. Returns the server's time, and of each change the version that it found: nothing was written where the times
 * are too far apart.
 */
export const compareAndSet = script(/* lua */ `
${SERVER_TIME}
local answer = { string.format('%.0f', now) }
if ARGV[1] ~= '' and math.abs(now - ARGV[1]) > ${MOST_APART_MS} then return answer end
-- Redis refuses the first write of a script where memory is full, and none of the others. This one it allows.
if ARGV[2] == '1' then redis.call('UNLINK', baseOf(KEYS[1]) .. 'none') end
local pcall, type, unpack, tonumber, ARGV = redis.pcall, type, unpack, tonumber, ARGV
local at = 3
for place, key in ipairs(KEYS) do
  local base = baseOf(key)
  -- Texts: Redis would have to write numbers as such.
  local found = pcall('GETRANGE', key, '0', '${VERSION_DIGITS - 1}')
  if type(found) == 'table' then found = '${FOREIGN}' end
  local isExpected = found == ARGV[at]
  local ends = at + 2 + tonumber(ARGV[at + 1])
  at = at + 2
  if isExpected then
    while at < ends do
      local last = at + tonumber(ARGV[at])
      local reply = pcall(ARGV[at + 1], base .. ARGV[at + 2], unpack(ARGV, at + 3, last))
      -- Not raised, which would wrap what the server says of itself.
      if type(reply) == 'table' and reply.err then return reply end
      at = last + 1
    end
  end
  answer[place + 1] = found
  at = ends
end
return answer
`)

/**
 * Finds what is due, the earliest first, and moves it ahead, so that no other process finds it meanwhile. KEYS: `due` sets. ARGV: now; until when to
 * reserve; how many at most; 1 to look at the ends of leases too; then the keys of records to leave out. Returns the server's time; when
 * the next one is due, or empty; then of each found its key, its record and what was sent, nil where there is none.
 */
export const reserve = script(/* lua */ `
${SERVER_TIME}
local dueMs, untilMs, limit = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local sets = ARGV[4] == '1' and { 'due', 'leased' } or { 'due' }
local excluded = {}
for at = 5, #ARGV do excluded[ARGV[at]] = true end
local found, nextMs = {}, nil
for place = 1, #KEYS do
  local base = baseOf(KEYS[place])
  for _, name in ipairs(sets) do
    local members = redis.call('ZRANGE', base .. name, 0, limit + #ARGV - 4, 'WITHSCORES')
    for at = 1, #members, 2 do
      local score = tonumber(members[at + 1])
      if not excluded[members[at]] then
        if score > dueMs or limit == 0 then
          if not nextMs or score < nextMs then nextMs = score end
          break
        end
        found[#found + 1] = { base, name, members[at], score }
      end
    end
  end
end
if #KEYS > 1 then table.sort(found, function(a, b) return a[4] < b[4] end) end
if #found > limit then nextMs = dueMs end
local answer = { string.format('%.0f', now), nextMs and string.format('%.0f', nextMs) or '' }
-- See above: what is stored is dispatched although memory is full.
if #found > 0 then redis.call('UNLINK', baseOf(KEYS[1]) .. 'none') end
-- A call for many keys: each call costs as much as what it does for some of them.
local names, moved = {}, {}
for at = 1, math.min(#found, limit) do
  local base, name, key = unpack(found[at])
  names[#names + 1] = base .. 'r:' .. key
  names[#names + 1] = base .. 's:' .. key
  local set = moved[base .. name] or {}
  moved[base .. name] = set
  set[#set + 1] = untilMs
  set[#set + 1] = key
end
for set, members in pairs(moved) do redis.call('ZADD', set, unpack(members)) end
local values = #names > 0 and redis.call('MGET', unpack(names)) or {}
for at = 1, #names / 2 do answer[#answer + 1] = { found[at][3], values[2 * at - 1], values[2 * at] } end
return answer
`)

/** How much of a value \`walk\` returns: of a payload, when it was admitted. */
export const HEAD_DIGITS = 15

/**
 * A step through the keys of a server. ARGV: cursor, pattern of the key after its beginning, how many keys to look at. Returns the cursor
 * to go on from, empty at the end; then of each key found what follows its beginning, and the beginning of its value. Writes nothing.
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
