/**
 * Forgetting on demand: what may name a person goes, the identities and what orders a message stay. What was written to a log or
 * a snapshot before is there until the server writes it anew.
 */
import { readRecord } from '../../inbox/record.ts'
import type { ForgetTarget, ForgottenCounts, KeptEvent, OpenStore } from '../../inbox/store.ts'
import type { Reply } from './clients/connection.ts'
import { decodePayload } from './encoding.ts'
import type { Engine } from './engine.ts'
import { bytes, integer, list, orThrow, text } from './replies.ts'
import { script } from './scripted.ts'
import { WRITING } from './scripts/heal.ts'
import { EXPECTED } from './scripts/message.ts'
import { PRELUDE, WALK } from './scripts/prelude.ts'

/** Scripts under way at once: each looks at one message. */
const AT_ONCE = 50
const FIELDS = 5

export function createForgetting(engine: Engine): Required<Pick<OpenStore, 'kept' | 'forget'>> {
  const { redis, partitions, retention, timeFor, nextCall, damage } = engine

  async function forgetOne({ messageKey, ids = [] }: ForgetTarget, dryRun: boolean, nowMs: number) {
    const args = [timeFor(nowMs), dryRun ? 1 : 0, retention.dedupeMs, nextCall(), messageKey, ...ids]
    const [answer, notes] = list(await redis.run(forgetScript, [partitions.dueKeyOf(messageKey)], args))
    damage.tell(notes)
    return Array.isArray(answer) ? list(answer).map(integer) : [orThrow(answer)]
  }

  return {
    async kept({ after, limit }) {
      const [, group = '0', cursor = '0'] = /^(\d+):(\d+)$/.exec(after ?? '') ?? []
      const place = Number(group)
      const keys = partitions.groups[place]
      if (keys === undefined) return { items: [] }
      const [next, ...flat] = list(await redis.run(keptScript, keys, ['', cursor, limit]))
      const items = readKept(flat)
      const goOn = text(next)
      if (goOn !== '0') return { items, next: `${group}:${goOn}` }
      return place + 1 < partitions.groups.length ? { items, next: `${place + 1}:0` } : { items }
    },
    async forget({ targets, dryRun }, nowMs) {
      const sum = { events: 0, unsettled: 0, deadLetters: 0, states: 0 } satisfies ForgottenCounts
      // An empty list of identities means none, and to the script all.
      const meant = targets.filter(({ ids }) => ids === undefined || ids.length > 0)
      for (let from = 0; from < meant.length; from += AT_ONCE) {
        const some = meant.slice(from, from + AT_ONCE)
        for (const [events = 0, unsettled = 0, deadLetters = 0, states = 0] of await Promise.all(
          some.map((target) => forgetOne(target, dryRun, nowMs)),
        )) {
          sum.events += events
          sum.unsettled += unsettled
          sum.deadLetters += deadLetters
          sum.states += states
        }
      }
      return sum
    },
  }
}

function readKept(flat: readonly Reply[]): readonly KeptEvent[] {
  return Array.from({ length: Math.floor(flat.length / FIELDS) }, (_, index): KeptEvent => {
    const [kind, messageKey, id, at, kept] = flat.slice(FIELDS * index, FIELDS * (index + 1))
    const payload = bytes(kept)
    const found =
      text(kind) === 'e'
        ? decodePayload(payload)
        : text(kind) === 's'
          ? { record: undefined, raw: payload }
          : { record: readRecord(payload), raw: undefined }
    const atMs = Number(text(at))
    return {
      messageKey: text(messageKey),
      id: text(id),
      atMs: atMs > 0 && Number.isFinite(atMs) ? atMs : found.record?.receivedAtMs,
      record: found.record,
      raw: found.raw,
    }
  })
}

/** Two times and a stage stand before the identity in an order. */
const IDENTITY = /* lua */ `
local function identityIn(order) return string.sub(order, 26) end
`

/**
 * Walks through the keys of some partitions, a step at a time, for what may name a person. KEYS: due sets of one slot, or of a
 * server without slots. ARGV: now, cursor, keys a step. Returns the cursor to go on from, then of each: e (an event), s (a send that is expected) or r (a
 * report of a latest state), message, id, a time that is known of it or nothing, what is kept. Writes nothing.
 */
const keptScript = script(/* lua */ `
${PRELUDE}
${IDENTITY}
${WALK}
local found = keysLike('[em]:*')
local seen = { found[1] }
local function add(kind, mk, id, at, kept)
  for _, value in ipairs({ kind, mk, id, at, kept }) do seen[#seen + 1] = value end
end
for _, key in ipairs(found[2]) do
  local place = places[string.sub(key, 1, #base)]
  if place then
    enter(place)
    local name = string.sub(key, #base + 3)
    if string.sub(key, #base + 1, #base + 1) == 'e' then
      local mk, id = string.match(name, '^(.*):([^:]*)$')
      local payload = mk and redis.pcall('GET', key)
      if type(payload) == 'string' then
        local known = redis.pcall('HGET', messageOf(mk), 'd' .. id)
        local event = type(known) == 'string' and unpacked(known)
        local second = type(known) == 'string' and string.match(known, '^%d+')
        add('e', mk, id, second and second .. '000' or event and type(event.D) == 'number' and ms(event.D) or '', payload)
      end
    else
      local all = redis.pcall('HGETALL', key)
      for at = 1, all.err and 0 or #all, 2 do
        local field, value = all[at], all[at + 1]
        if field == 'E' then
          local sentAt = redis.pcall('ZSCORE', base .. 'sent', name)
          add('s', name, name, type(sentAt) == 'string' and sentAt or '', value)
        end
        if string.sub(field, 1, 1) == 'F' then add('r', name, identityIn(string.sub(field, 2)), '', value) end
        if field == 'R' then
          local state = unpacked(redis.pcall('HGET', key, 'S')) or {}
          add('r', name, type(state.L) == 'string' and identityIn(state.L) or '', '', value)
        end
      end
    end
  end
end
return seen
`)

/**
 * Forgets a message, or some of its events. ARGV: now, whether to count only (1 or 0), dedupe (ms), call, message, and the
 * ids: none for all. Returns how many events had bytes, how many of them were unsettled, how many dead letters, 1 where a report
 * of the latest state was among them, and the same again to the same call within a minute; or a text that says what is wrong; and what is to be reported. The first write is one that
 * is allowed where memory is full.
 */
const forgetScript = script(/* lua */ `
${WRITING}
${EXPECTED}
${IDENTITY}
local dry, dedupe, call, mk = ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4], ARGV[5]
local only
for at = 6, #ARGV do
  only = only or {}
  only[ARGV[at]] = true
end
local function isMeant(id) return not only or only[id] end

-- What is meant of the reports of the latest state, the greatest final order that is left, and how many are.
local function reportsOf(all, state)
  local gone, left, count, hasLatest = {}, nil, 0, false
  for at = 1, #all, 2 do
    local field, order = all[at], string.sub(all[at], 2)
    if field == 'R' then
      if isMeant(identityIn(state.L or '')) then gone[#gone + 1] = field else hasLatest = true end
    elseif string.sub(field, 1, 1) == 'F' then
      if isMeant(identityIn(order)) then gone[#gone + 1] = field
      else
        count = count + 1
        if not left or before(left, order) then left = order end
      end
    end
  end
  return gone, left, count, hasLatest
end

local events, unsettled, letters, states = 0, 0, 0, 0
local function forget()
  local m = messageOf(mk)
  local all = redis.call('HGETALL', m)
  local known, packed = {}, nil
  for at = 1, #all, 2 do
    if all[at] == 'S' then packed = all[at + 1]
    elseif string.sub(all[at], 1, 1) == 'd' then known[string.sub(all[at], 2)] = all[at + 1] end
  end
  if not packed and #all > 0 then error('damaged') end
  local state = packed and sound(stateIn(packed)) or {}
  local gone, left, count, hasLatest = reportsOf(all, state)
  states = #gone > 0 and 1 or 0

  local changes, wasDue = {}, false
  for id in pairs(only or known) do
    local e = eventOf(mk, id)
    local event = known[id] and unsettledIn(known[id])
    events = events + redis.call('EXISTS', e)
    if event then
      soundEvent(event)
      unsettled = unsettled + 1
    end
    local died = redis.call('ZSCORE', base .. 'dead', id)
    if died then letters = letters + 1 end
    if not dry then
      if event then
        if not wasDue then redis.call('ZREM', due, mk) end
        wasDue = true
        if state.i == id then state.u, state.i, state.H = nil, nil, nil end
        leave(mk, state, id, event.q)
        changes[#changes + 1] = 'd' .. id
        changes[#changes + 1] = math.max(1, math.floor(now / 1000)) .. ' ' .. call
      end
      if died then
        redis.call('ZREM', base .. 'dead', id)
        redis.call('HDEL', base .. 'deadof', id)
      end
      redis.call('UNLINK', e)
    end
  end
  if redis.call('HEXISTS', m, 'E') == 1 and isMeant(mk) then
    states = 1
    if not dry then expectNothing(mk) end
  end
  if dry or #all == 0 or #gone + #changes == 0 then return end

  for _, field in ipairs(gone) do redis.call('HDEL', m, field) end
  state.n, state.R = count > 0 and count or nil, hasLatest or nil
  -- A report that comes later is the latest one, also where a forgotten one was later still.
  if not hasLatest then state.L = left end
  for at = 1, #changes, 2 do redis.call('HSET', m, changes[at], changes[at + 1]) end
  redis.call('HSET', m, 'S', cmsgpack.pack(state))
  if not wasDue then return end
  if state.f then schedule(mk, state)
  else redis.call('PEXPIRE', m, ms(math.max(dedupe, (state.x or 0) - now))) end
end

local function counted()
  events, unsettled, letters, states = 0, 0, 0, 0
  forget()
  return { events, unsettled, letters, states }
end
-- What a call forgot, it can count only once.
local told = base .. 'call:' .. call
local earlier = unpacked(redis.pcall('GET', told) or '')
if earlier then return { earlier } end
local answer, trouble = try(counted, 1, mk)
if fatal then return fatal end
if miscounted then healer().settleCounts() end
if answer and not dry and answer[1] + answer[2] + answer[3] + answer[4] > 0 then
  redis.pcall('SET', told, cmsgpack.pack(answer), 'PX', 60000)
end
return { answer or trouble, notes }
`)
