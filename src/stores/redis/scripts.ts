/**
 * The scripts. They compare, run commands and move due times, and do not look into records.
 *
 * Keys are derived from the prefixes of those in KEYS, so that a client's key prefix is kept. The keys of a partition, after
 * its prefix:
 *
 * - `r:<key>`: a record: the 12 characters of its version, then its text
 * - `s:<key>`: its send: two times and its text
 * - `p:<key>:<id>`: the payload of an event: 15 digits of its admission time, its record as JSON, a line feed, its body
 * - `due`: sorted set of the keys of due records, by the store's time; `leased`: of leased records, by when they
 *   can be leased again
 * - `more`: set of the events that wait behind another one of their record
 * - `dead`: sorted set of the ids of dead letters, by time of death; `deadof`: hash of their keys and errors
 * - `sent`, `overdue`: sorted sets of the keys of records with a send, by time of sending and by deadline
 * - `records`: sorted set of the keys of all records, by the time of their beginning
 * - `events`: sorted set of `<id>:<key>` of all events with a payload, by admission time
 * - `waited`: written by each call that waits for replicas; expires at once
 * - `mark`, `workers`: see `watching.ts` and `workers.ts`
 */
import { MAX_APART_MS } from '../server-time.ts'
import { script } from './scripted.ts'

const BASE = /* lua */ `
local function baseOf(key) return string.match(key, '^.*}:') end
`
const SERVER_TIME = /* lua */ `
${BASE}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

export const VERSION_LENGTH = 12

/**
 * Runs some commands, then others if each record has the expected version. KEYS: the records, each once. ARGV: the caller's
 * estimate of the server's time, or empty; the number of values of the first commands, and these; the expected version of each
 * record (empty: no record); the other commands. A command is the number of its values, its name, its key without the prefix,
 * and its arguments; `MSET` has several keys. Returns the server's time, and the versions found. Writes nothing if the times
 * differ too much.
 */
export const compareAndSet = script(/* lua */ `
${SERVER_TIME}
local answer = { string.format('%.0f', now) }
if ARGV[1] ~= '' and math.abs(now - ARGV[1]) > ${MAX_APART_MS} then return answer end
local base = baseOf(KEYS[1])
local pcall, type, unpack, tonumber, ARGV = redis.pcall, type, unpack, tonumber, ARGV
-- Returns an error: raising it would wrap the server's message.
local function run(at, ends)
  while at < ends do
    local last = at + tonumber(ARGV[at])
    local name, reply = ARGV[at + 1]
    if name == 'MSET' then
      local texts = {}
      for place = at + 2, last, 2 do
        texts[#texts + 1] = base .. ARGV[place]
        texts[#texts + 1] = ARGV[place + 1]
      end
      reply = pcall(name, unpack(texts))
    else
      reply = pcall(name, base .. ARGV[at + 2], unpack(ARGV, at + 3, last))
    end
    if type(reply) == 'table' and reply.err then return reply end
    at = last + 1
  end
end
local versions = 2 + tonumber(ARGV[2])
local failed = run(3, versions + 1)
local areExpected = true
for place = 1, #KEYS do
  -- Texts, because Redis would convert numbers.
  local found = pcall('GETRANGE', KEYS[place], '0', '${VERSION_LENGTH - 1}')
  -- A key that does not hold text counts as missing.
  if type(found) == 'table' then found = '' end
  if found ~= ARGV[versions + place] then areExpected = false end
  answer[place + 1] = found
end
if areExpected and not failed then failed = run(versions + #KEYS + 1, #ARGV + 1) end
return failed or answer
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
 * Finds due records, earliest first, and reserves them by moving their times. KEYS: the `due` set. ARGV: the time by which they
 * are due, and until when they are reserved, both in the store's time; limit; then the keys of records to leave out. Returns the
 * server's time; when the next record is due, or empty; then for each found record its key, record and send, nil if missing.
 */
export const reserve = script(/* lua */ `
${SERVER_TIME}
local base = baseOf(KEYS[1])
local dueMs, untilMs, limit = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local excluded = {}
for at = 4, #ARGV do excluded[ARGV[at]] = true end
local function advance(set)
  repeat
    set.at = set.at + 2
    if set.at > #set.members then
      -- Most calls need no more than the first.
      local last = set.read == 0 and 0 or set.read + limit
      set.members = redis.call('ZRANGE', base .. set.name, set.read, last, 'WITHSCORES')
      set.read = last + 1
      set.at = 1
    end
    set.key = set.members[set.at]
    set.score = set.key and tonumber(set.members[set.at + 1]) or math.huge
  until set.score > dueMs or not excluded[set.key]
end
local function opened(name)
  local set = { name = name, read = 0, at = 1, members = {}, moved = {} }
  advance(set)
  return set
end
local due, leased = opened('due'), opened('leased')
local function earliest() return leased.score < due.score and leased or due end
local keys, texts = {}, {}
local first = earliest()
while #keys < limit and first.score <= dueMs do
  keys[#keys + 1] = first.key
  texts[#texts + 1] = base .. 'r:' .. first.key
  texts[#texts + 1] = base .. 's:' .. first.key
  first.moved[#first.moved + 1] = untilMs
  first.moved[#first.moved + 1] = first.key
  advance(first)
  first = earliest()
end
local answer = { string.format('%.0f', now), first.score < math.huge and string.format('%.0f', first.score) or '' }
if #keys == 0 then return answer end
-- With full memory, Redis allows writes after an UNLINK: stored events are dispatched.
redis.call('UNLINK', base .. 'none')
-- One call for all keys, because a call costs as much as its work for several keys.
for _, set in ipairs({ due, leased }) do
  if #set.moved > 0 then redis.call('ZADD', base .. set.name, unpack(set.moved)) end
end
local values = redis.call('MGET', unpack(texts))
for at = 1, #keys do answer[at + 2] = { keys[at], values[2 * at - 1], values[2 * at] } end
return answer
`)
