/** What became of claimed events, and of dead letters. */
import type { Resolution, Settlement } from '../../inbox/store.ts'
import { callsFor, inPlace, type Call } from './calls.ts'
import type { Engine } from './engine.ts'
import { list, orThrow } from './replies.ts'
import { script } from './scripted.ts'
import { WRITING } from './scripts/heal.ts'
import { BURY } from './scripts/message.ts'

/** As on Postgres: so few milliseconds more halve the round trips of many processes that have little to do each. */
const SETTLE_HOLD_MS = 25
const HELD = 1
const HELD_WITH_REST = 2

interface Settling {
  readonly tellsOfRest: true
  readonly settleHoldMs: number
  settle(settlements: readonly Settlement[], nowMs: number): Promise<readonly boolean[]>
  resolve(id: string, resolution: Resolution, nowMs: number): Promise<boolean>
}

/** `onRest`: something else of a message whose event has ended may be due. */
export function createSettling(engine: Engine, onRest: () => void): Settling {
  const { redis, partitions, retention, timeFor, nextCall, damage } = engine
  const { retentionMs, dedupeMs, deadLetterMs } = retention

  async function settleCall({ name, keys, members }: Call<Settlement>, nowMs: number): Promise<readonly boolean[]> {
    const args = [timeFor(nowMs), name, retentionMs, dedupeMs, deadLetterMs]
    const fields = members.flatMap(({ item, key }) => {
      const { messageKey, id, token, outcome } = item
      const delayMs = 'dueMs' in item ? Math.round(item.dueMs - nowMs) : 0
      return [key, messageKey, id, token, outcome, delayMs, 'error' in item ? item.error : '']
    })
    const [answers, notes] = list(await redis.run(settleScript, keys, [...args, ...fields]))
    damage.tell(notes)
    const held = list(answers).map(orThrow)
    if (held.includes(HELD_WITH_REST)) onRest()
    return held.map((answer) => answer === HELD || answer === HELD_WITH_REST)
  }

  return {
    tellsOfRest: true,
    settleHoldMs: SETTLE_HOLD_MS,
    async settle(settlements, nowMs) {
      const calls = callsFor(settlements, engine)
      return inPlace(calls, await Promise.all(calls.map((call) => settleCall(call, nowMs))))
    },
    async resolve(id, resolution, nowMs) {
      const call = nextCall()
      // An id does not say of which message it is, nor so in which partition.
      const replies = await Promise.all(
        partitions.dueKeys.map((dueKey) =>
          redis.run(resolveScript, [dueKey], [timeFor(nowMs), id, resolution, retentionMs, call]),
        ),
      )
      return replies.map(list).some(([answer, notes]) => {
        damage.tell(notes)
        return orThrow(answer) === 1
      })
    },
  }
}

/**
 * Ends attempts: done, to be tried again, dead, or not begun. ARGV: now, call, retention, dedupe and dead letters (ms); then
 * for each: place of its key in KEYS, message, id, token, outcome, delay (ms from now), error. Returns for each 1, or 2 where it
 * has ended and others of its message wait, or 0 where the lease did not hold and nothing changed, or a text that says what
 * is wrong; 1 or 2 again to the same call. The first write is
 * one that is allowed where memory is full.
 */
const settleScript = script(/* lua */ `
${WRITING}
${BURY}
local FIRST, FIELDS = 6, 7
local retention, dedupe, keepDead = ARGV[3], ARGV[4], tonumber(ARGV[5])

local function settle(at, again)
  enter(tonumber(ARGV[at]))
  local mk, id, token, outcome = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), ARGV[at + 4]
  local call = ARGV[2] .. '.' .. (at - FIRST) / FIELDS
  local m = messageOf(mk)
  local known, packed = unpack(redis.call('HMGET', m, 'd' .. id, 'S'))
  if not known then
    local state = unpacked(packed)
    if not again and state and state.i == id and state.t == token then error('damaged') end
    return 0
  end
  local event = unsettledIn(known)
  if not event then
    local _, last, by = string.find(known, '^%d+ (.*)$')
    if not last and not again then error('damaged') end
    return by == call and 2 or 0
  end
  soundEvent(event)
  if event.c == call then return 1 end
  if event.k ~= token then return 0 end
  local state = sound(stateIn(packed))
  -- Also where none waits: a message that went to rest would leave them behind.
  if not state.f or redis.call('ZCARD', waitingOf(mk)) ~= (state.w or 0) then error('damaged') end

  redis.call('ZREM', due, mk)
  if not state.u or state.t == token then state.u, state.i, state.H = nil, nil, nil end
  if outcome == 'retry' or outcome == 'unbegun' then
    event.D, event.c = now + tonumber(ARGV[at + 5]), call
    -- It is due when it was said to be, and awaits no step any more.
    if outcome == 'unbegun' then event.a, event.k, event.b = event.a - 1, nil, nil end
    known = cmsgpack.pack(event)
  else
    known = math.max(1, math.floor(now / 1000)) .. ' ' .. call
    if outcome == 'dead' then bury(mk, id, state, event, ARGV[at + 6], keepDead) end
    leave(mk, state, id, event.q)
    if outcome == 'done' and retention == '0' then
      redis.call('UNLINK', eventOf(mk, id))
    elseif outcome == 'done' then
      redis.call('PEXPIRE', eventOf(mk, id), retention)
    end
  end
  redis.call('HSET', m, 'd' .. id, known, 'S', cmsgpack.pack(state))
  schedule(mk, state, state.f == id and event)
  if not state.f then redis.call('PEXPIRE', m, ms(math.max(tonumber(dedupe), (state.x or 0) - now))) end
  return state.f and (outcome == 'done' or outcome == 'dead') and 2 or 1
end

local answers = {}
for at = FIRST, #ARGV, FIELDS do
  local answer, trouble = try(settle, at, ARGV[at + 1])
  if fatal then return fatal end
  answers[#answers + 1] = answer or trouble
end
if miscounted then healer().settleCounts() end
return { answers, notes }
`)

/**
 * Ends the state of a dead letter. ARGV: now, id, resolution (replay, force or discard), retention (ms), call. Returns 1,
 * or 0 where this partition has no such one; 1 again to the same call within a minute; and what is to be reported. One that
 * nobody knows the message of any more can only be given up.
 */
const resolveScript = script(/* lua */ `
${WRITING}
local id, resolution, call = ARGV[2], ARGV[3], ARGV[5]
local dead = unpacked(redis.pcall('HGET', base .. 'deadof', id))
local mk = dead and type(dead.m) == 'string' and dead.m

local function forget()
  redis.call('ZREM', base .. 'dead', id)
  redis.call('HDEL', base .. 'deadof', id)
  redis.call('SET', base .. 'call:' .. id, call, 'PX', 60000)
end

local function resolve()
  local isThere = redis.call('HEXISTS', base .. 'deadof', id) == 1
  if not redis.call('ZSCORE', base .. 'dead', id) and not isThere then
    return redis.pcall('GET', base .. 'call:' .. id) == call and 1 or 0
  end
  local m, e = mk and messageOf(mk), mk and eventOf(mk, id)
  if resolution == 'discard' then
    forget()
    if mk then redis.call('PEXPIRE', e, ARGV[4]) end
    return 1
  end
  if not mk then return 0 end
  local packed = redis.call('HGET', m, 'S')
  local state = packed and sound(stateIn(packed)) or {}
  if state.w and redis.call('ZCOUNT', waitingOf(mk), 0, 0) ~= state.w then error('damaged') end
  local isKept = redis.call('EXISTS', e) == 1
  redis.call('ZREM', base .. 'dead', id)
  redis.call('HDEL', base .. 'deadof', id)
  if not isKept then return 0 end
  forget()
  local order, final = type(dead.q) == 'string' and dead.q or '', dead.f == true or nil
  local late = resolution ~= 'force' and isLate(order, final, state)
  local event = { q = order, f = final, b = healer().whole(dead.b, 2147483648) and dead.b or nil, l = late or nil, y = true, D = now }
  join(mk, state, id, order)
  redis.call('HSET', m, 'd' .. id, cmsgpack.pack(event), 'S', cmsgpack.pack(state))
  redis.call('PERSIST', m)
  redis.call('PERSIST', e)
  schedule(mk, state)
  return 1
end

local answer, trouble = try(resolve, 1, mk)
if fatal then return fatal end
if miscounted then healer().settleCounts() end
return { answer or trouble, notes }
`)
