/**
 * Forgetting dead letters that are too old, a step at a time; all else runs out by itself. And finding what no verb would meet any
 * more, for somebody else has spoilt it: a walk through all keys, of which each call makes a bounded part.
 */
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { integer, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { WRITING } from './scripts/heal.ts'
import { EXPECTED } from './scripts/message.ts'

const A_STEP = 100
/** Keys that a script looks at: a millisecond or two of the server's time. */
const KEYS_A_STEP = 100
/** Of one call, over all groups of partitions. */
const STEPS = 100

/** Where in a partition the next call goes on. */
interface Place {
  readonly dead: string
  readonly known: string
  /** Dead letters that nobody knows the message of, with the walk that had begun when they were found. */
  readonly lost: ReadonlyMap<string, number>
}

const BEGINNING: Place = { dead: '0', known: '0', lost: new Map() }

export function createPruning(engine: Engine): (nowMs: number) => Promise<number> {
  const { redis, partitions, retention, timeFor, damage } = engine
  const { retentionMs, deadLetterMs, dedupeMs } = retention
  const places = new Map<string, Place>()
  const walks = new Map<string, { readonly cursor: string; readonly round: number }>()
  const stepsEach = Math.max(1, Math.floor(STEPS / partitions.groups.length))

  async function prune(dueKey: string, walk: string, nowMs: number): Promise<number> {
    const { dead, known, lost } = places.get(dueKey) ?? BEGINNING
    const { round } = walks.get(walk) ?? { round: 0 }
    // One whole walk since has not met it: of its message nothing is left.
    const given = [...lost].filter(([, since]) => since + 1 < round).map(([id]) => id)
    const args = [timeFor(nowMs), deadLetterMs, A_STEP, dead, known, dedupeMs, ...given]
    const reply = await redis.run(pruneScript, [dueKey], args)
    const [forgotten, nextDead, nextKnown, found, notes] = list(reply)
    damage.tell(notes)
    const stillLost = list(found).map(text)
    places.set(dueKey, {
      dead: String(integer(nextDead)),
      known: text(nextKnown),
      lost: new Map(stillLost.map((id) => [id, lost.get(id) ?? round])),
    })
    return integer(forgotten)
  }

  async function walk(keys: Keys, nowMs: number): Promise<void> {
    const lost = keys.flatMap((key) => [...(places.get(key)?.lost.keys() ?? [])])
    for (let steps = 0; steps < stepsEach; steps += 1) {
      const { cursor, round } = walks.get(keys[0]) ?? { cursor: '0', round: 0 }
      const args = [timeFor(nowMs), cursor, KEYS_A_STEP, dedupeMs, retentionMs, ...lost]
      const [next, notes] = list(await redis.run(walkScript, keys, args))
      damage.tell(notes)
      const isEnd = text(next) === '0'
      walks.set(keys[0], { cursor: text(next), round: isEnd ? round + 1 : round })
      if (isEnd) {
        if (keys === partitions.groups[0]) damage.lookedAtAll()
        return
      }
    }
  }

  return async (nowMs) => {
    const forgotten = await Promise.all(
      partitions.groups.flatMap((keys) => keys.map((key) => prune(key, keys[0], nowMs))),
    )
    await Promise.all(partitions.groups.map((keys) => walk(keys, nowMs)))
    return forgotten.reduce((total, number) => total + number, 0)
  }
}

/** Messages that are counted each time, to see that the number of what waits is right: a millisecond or two. */
const MOST_COUNTED = 2_000

/**
 * Forgets dead letters that are too old; everything else expires by itself. Mends what belongs to all messages of a partition,
 * looks whether some of its messages are due beyond any wait, and whether each of its dead letters is known twice.
 *
 * ARGV: now, age (ms), most of them, place among the dead letters to look on from, cursor among what is known of them, dedupe (ms), and those
 * that nobody will find the message of. Returns how many it forgot, both places to go on from, the ids that the message is not
 * known of, and what is to be reported.
 */
const pruneScript = script(/* lua */ `
${WRITING}
${EXPECTED}
local most = tonumber(ARGV[3])
local dead, deadof = base .. 'dead', base .. 'deadof'
local tools = healer()
local heal, whole = tools.heal, tools.whole
tools.mendPartition()
for at = 7, #ARGV do
  if not unpacked(redis.call('HGET', deadof, ARGV[at])) then
    redis.call('ZREM', dead, ARGV[at])
    redis.call('HDEL', deadof, ARGV[at])
  end
end

-- A time that cannot be: as old as is known, or else of now.
for _, range in ipairs({ { '(' .. ms(now + LONGEST), '+inf' }, { '-inf', '(0' } }) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', dead, range[1], range[2], 'LIMIT', 0, most)) do
    local known = unpacked(redis.call('HGET', deadof, id))
    redis.call('ZADD', dead, ms(known and whole(known.T, now + LONGEST) and known.T or now), id)
    note('state_damaged', id, 'dead')
  end
end
for _, mk in ipairs(redis.call('ZRANGEBYSCORE', due, '(' .. ms(now + LONGEST), '+inf', 'LIMIT', 0, most)) do heal(mk, 'due') end

local old = redis.call('ZRANGEBYSCORE', dead, '-inf', '(' .. ms(now - tonumber(ARGV[2])), 'LIMIT', 0, most)
for _, id in ipairs(old) do
  local known = unpacked(redis.call('HGET', deadof, id))
  redis.call('ZREM', dead, id)
  redis.call('HDEL', deadof, id)
  if known and type(known.m) == 'string' then redis.call('DEL', eventOf(known.m, id)) end
end

-- The walk enters it anew, as what is expected says.
for _, mk in ipairs(redis.call('ZRANGEBYSCORE', base .. 'overdue', '(' .. ms(now + LONGEST), '+inf', 'LIMIT', 0, most)) do
  redis.call('ZREM', base .. 'overdue', mk)
  redis.call('ZREM', base .. 'sent', mk)
end
local decided = 0
for _, mk in ipairs(redis.call('ZRANGEBYSCORE', base .. 'sent', '-inf', '(' .. ms(now - tonumber(ARGV[6])), 'LIMIT', 0, most)) do
  if not redis.call('ZSCORE', base .. 'overdue', mk) then
    expectNothing(mk)
    decided = decided + 1
  end
end

local from, lost = tonumber(ARGV[4]), {}
local some = redis.call('ZRANGE', dead, from, from + most - 1)
for _, id in ipairs(some) do
  local known = unpacked(redis.call('HGET', deadof, id))
  if not known or type(known.m) ~= 'string' then lost[#lost + 1] = id end
end
local seen = redis.call('HSCAN', deadof, ARGV[5], 'COUNT', most)
for at = 1, #seen[2], 2 do
  local id, known = seen[2][at], unpacked(seen[2][at + 1])
  if not redis.call('ZSCORE', dead, id) then
    if known and type(known.m) == 'string' then
      redis.call('ZADD', dead, ms(whole(known.T, now + LONGEST) and known.T or now), id)
      note('state_damaged', id, 'dead')
    else
      redis.call('HDEL', deadof, id)
    end
  end
end

-- What stands first shall be messages: nothing else may keep them from being seen.
for _, mk in ipairs(redis.call('ZRANGE', due, 0, 2 * most - 1)) do
  if redis.call('EXISTS', messageOf(mk), waitingOf(mk)) == 0 then redis.call('ZREM', due, mk) end
end
if redis.call('ZCARD', due) <= ${MOST_COUNTED} then
  local before = redis.call('GET', base .. 'more')
  tools.countAnew()
  local more = redis.call('GET', base .. 'more')
  if (before or '0') ~= more and not (miscounted and miscounted[due]) then note('state_damaged', '', 'more') end
  if not before and more == '0' then redis.call('DEL', base .. 'more') end
  if miscounted then miscounted[due] = nil end
end
tools.settleCounts()
return { #old + decided, #some < most and 0 or from + most, seen[1], lost, notes or {} }
`)

/**
 * Walks through the keys of some partitions, a step at a time, for what no verb would meet any more: a message that waits and is
 * not due in time, an event that its message does not know, the message of a dead letter. KEYS: due sets of one slot, or of a server
 * without slots. ARGV: now, cursor, keys a step, dedupe, retention (ms), ids of dead letters that the message is not known of.
 * Returns the cursor to go on from, and what is to be reported.
 */
const walkScript = script(/* lua */ `
${WRITING}
${EXPECTED}
local dedupe, retention = ARGV[4], ARGV[5]
local places, lost = {}, {}
for key = 1, #KEYS do
  enter(key)
  places[base] = key
end
for at = 6, #ARGV do lost[ARGV[at]] = true end

-- Of what is too old the time of its send is, too, and prune takes it out again.
local function enterSent(mk, m)
  local sent = redis.call('HMGET', m, 'E', 'O')
  local ok, known = pcall(cjson.decode, sent[1] or '')
  if not sent[1] or not ok or type(known) ~= 'table' or type(known.sentAtMs) ~= 'number' then return end
  redis.call('ZADD', base .. 'sent', ms(type(known.listedAtMs) == 'number' and known.listedAtMs or known.sentAtMs), mk)
  if not sent[2] and type(known.overdueAtMs) == 'number' then redis.call('ZADD', base .. 'overdue', ms(known.overdueAtMs), mk) end
  note('state_damaged', mk, 'sent')
end

local function walkMessage(mk, again)
  local m = messageOf(mk)
  local packed = redis.call('HGET', m, 'S')
  if not packed and again then return end
  local state = sound(stateIn(packed or error('damaged')))
  if isExpected(state) and not redis.call('ZSCORE', base .. 'sent', mk) then enterSent(mk, m) end
  if not state.f then
    if redis.call('PTTL', m) == -1 then redis.call('PEXPIRE', m, ms(math.max(tonumber(dedupe), (state.x or 0) - now))) end
    return
  end
  local known = redis.call('HGET', m, 'd' .. state.f)
  local event = soundEvent(known and unsettledIn(known) or error('damaged'))
  local score = tonumber(redis.call('ZSCORE', due, mk) or nil)
  if not score or score > math.max(event.D, state.u or 0, now) + 1000 then error('damaged') end
end

local function walkEvent(mk, id)
  local e = eventOf(mk, id)
  local life = redis.call('PTTL', e)
  local died = life >= 0 and lost[id] and redis.call('ZSCORE', base .. 'dead', id)
  if died then
    redis.call('HSET', base .. 'deadof', id, cmsgpack.pack({ m = mk, q = '', T = tonumber(died), E = '' }))
    note('state_damaged', id, 'deadof')
  end
  if life ~= -1 then return end
  local known = redis.call('HGET', messageOf(mk), 'd' .. id)
  if not known then return healer().heal(mk, 'm', id) end
  if string.match(known, '^%d+ ') then
    if retention == '0' then redis.call('UNLINK', e) else redis.call('PEXPIRE', e, retention) end
  end
end

local function walk(key, again)
  local mk = string.sub(key, #base + 3)
  local kind = string.sub(key, #base + 1, #base + 2)
  if kind == 'm:' then walkMessage(mk, again)
  elseif kind == 'w:' then
    if not redis.call('ZSCORE', due, mk) and not again then error('damaged') end
  elseif kind == 'e:' then
    local of, id = string.match(mk, '^(.*):([^:]*)$')
    if of then walkEvent(of, id) end
  end
end

local head = string.match(due, '^(.*){') or ''
local pattern = string.gsub(head, '[%*%?%[%]%^%-\\\\]', '\\\\%0') .. '{*'
local found = redis.call('SCAN', ARGV[2], 'MATCH', pattern, 'COUNT', ARGV[3])
for _, key in ipairs(found[2]) do
  local place = places[string.sub(key, 1, #base)]
  if place then
    enter(place)
    local of = string.sub(key, #base + 3)
    if string.sub(key, #base + 1, #base + 1) == 'e' then of = string.match(of, '^(.*):[^:]*$') end
    try(walk, key, of)
    if fatal then return fatal end
  end
end
if miscounted then healer().settleCounts() end
return { found[1], notes }
`)
