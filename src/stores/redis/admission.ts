/** Taking events in: many by one script, and with a lease at once where this process has room for them. */
import { MOST_FINALS } from '../../inbox/latest.ts'
import type { KnownExpectation } from '../../inbox/expected.ts'
import type { Admission, AdmittedAndClaimed, ClaimRequest, NewEvent } from '../../inbox/store.ts'
import { leasableOf, NO_LEASE, withClaims } from '../leasable.ts'
import { callsFor, inPlace, isFailure, throwFirst, valuesOf, type Call, type Unanswered } from './calls.ts'
import type { RedisArgument } from './clients/connection.ts'
import { encodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import type { Expecting } from './expecting.ts'
import type { GiveBack, Holders } from './holders.ts'
import { integer, list, orThrow } from './replies.ts'
import { script, type Script } from './scripted.ts'
import { KNOWN } from './scripts/holders.ts'
import { WRITING } from './scripts/heal.ts'
import { CLOSING, EXPECTED } from './scripts/message.ts'

const ADMISSIONS: readonly Admission[] = ['duplicate', 'new', 'late']

interface AdmissionOptions {
  readonly engine: Engine
  readonly unanswered: Unanswered
  readonly holders: Holders
  readonly expecting: Pick<Expecting, 'read'>
  readonly giveBack: GiveBack
  /** Is called when others may have something to do. */
  readonly announce: () => void
  /** Is called when this process may have leases that it does not know of. */
  readonly onWork: () => void
}

interface Admitting {
  admit(events: readonly NewEvent[], nowMs: number): Promise<readonly Admission[]>
  admitOverdue(events: readonly NewEvent[], nowMs: number): Promise<readonly boolean[]>
  admitAndClaim(events: readonly NewEvent[], request: ClaimRequest): Promise<AdmittedAndClaimed>
}

/** Which events may be leased, by their places, and until when. */
interface Leasing {
  readonly leasable: readonly boolean[]
  readonly leaseUntilMs: number
  readonly by?: Script
}

/** Leases are taken under the name of this holder; under none where that is empty. */
interface Holding extends Call<NewEvent> {
  readonly holder: string
}

/** What became of one event. */
interface Admitted {
  readonly admission: Admission
  /** Of its lease, or `NO_LEASE`. */
  readonly token: number
  readonly expected?: KnownExpectation | undefined
}

export function createAdmission(options: AdmissionOptions): Admitting {
  const { engine, unanswered, holders, expecting, giveBack, announce, onWork } = options
  const { redis, partitions, retention, timeFor, damage } = engine

  async function admitCall(
    { name, keys, members, holder }: Holding,
    nowMs: number,
    { leasable, leaseUntilMs, by = admitScript }: Leasing,
  ): Promise<readonly Admitted[]> {
    const leaseMs = Math.round(leaseUntilMs - nowMs)
    const args: (RedisArgument | number)[] = [timeFor(nowMs), name, retention.dedupeMs, MOST_FINALS, leaseMs, holder]
    for (const { item, key, index } of members) {
      const { messageKey, id, order, final, step, awaits, gapUntilMs, record, raw } = item
      args.push(key, messageKey, id, order, final ? 1 : 0, step, awaits, Math.round(gapUntilMs - nowMs))
      args.push(leasable[index] === true ? 1 : 0, encodeRecord(record), raw)
    }
    const [answers, notes] = list(await redis.run(by, [...keys, partitions.homeOf(keys[0])], args))
    damage.tell(notes)
    const admitted = list(answers).map((reply, at) => {
      const [outcome, token, sent, wasOverdue] = list(reply)
      const admission = ADMISSIONS[integer(orThrow(outcome))]
      if (admission === undefined) throw new TypeError('The script answered with something else than an admission.')
      if (sent === undefined) return { admission, token: integer(token) }
      const expected = expecting.read(members[at]?.item.messageKey ?? '', sent, wasOverdue)
      return { admission, token: integer(token), expected }
    })
    if (holder === '' || holders.isOurs(keys[0], holder)) return admitted
    // We were taken for dead meanwhile.
    const lost = members.flatMap(({ item: { id, messageKey } }, at) => {
      const { token } = admitted[at] ?? { token: NO_LEASE }
      return token === NO_LEASE ? [] : [{ id, messageKey, token }]
    })
    giveBack(lost, nowMs)
    return admitted.map(({ admission }) => ({ admission, token: NO_LEASE }))
  }

  async function admitAll(events: readonly NewEvent[], nowMs: number, leasing: Leasing): Promise<readonly Admitted[]> {
    // After an outage this is how the inbox asks whether the server is back.
    if (events.length === 0) {
      await redis.ask(['PING'])
      return []
    }
    const leases = leasing.leasable.includes(true)
    const calls = callsFor(events, engine, ({ raw }) => raw.length).map((call) => ({
      ...call,
      // Nobody waits here until it is known again: what is not leased will be claimed.
      holder: (leases ? holders.sureId(call.keys[0]) : undefined) ?? '',
    }))
    // Where one fails, the others may be in: they are duplicates when they come again, and nothing is lost or doubled.
    const results = await Promise.allSettled(calls.map((call) => admitCall(call, nowMs, leasing)))
    const answers = valuesOf(results)
    if (answers.flat().some(({ admission, token }) => admission !== 'duplicate' && token === NO_LEASE)) announce()
    if (results.some(isFailure)) askAgain(calls, leasing)
    throwFirst(results)
    return inPlace(calls, answers)
  }

  /** The caller hears of no lease where one of the calls failed: the next claim gets them all. */
  function askAgain(calls: readonly Holding[], { leasable, leaseUntilMs }: Leasing): void {
    const leased = calls.flatMap(({ members, holder }) =>
      members
        .filter(({ index }) => holder !== '' && leasable[index] === true)
        .map(({ item: { messageKey }, name }) => ({ messageKey, name, leaseUntilMs, holder })),
    )
    if (leased.length === 0) return
    unanswered.add(leased)
    onWork()
  }

  return {
    async admit(events, nowMs) {
      const admitted = await admitAll(events, nowMs, { leasable: [], leaseUntilMs: nowMs })
      return admitted.map(({ admission }) => admission)
    },
    async admitOverdue(events, nowMs) {
      const leasing = { leasable: [], leaseUntilMs: nowMs, by: admitOverdueScript }
      const admitted = events.length === 0 ? [] : await admitAll(events, nowMs, leasing)
      return admitted.map(({ admission }) => admission !== 'duplicate')
    },
    async admitAndClaim(events, request) {
      const { nowMs, leaseUntilMs } = request
      const admitted = await admitAll(events, nowMs, { leasable: leasableOf(events, request), leaseUntilMs })
      return withClaims(events, {
        admissions: admitted.map(({ admission }) => admission),
        tokens: admitted.map(({ token }) => token),
        expected: admitted.some(({ expected }) => expected !== undefined)
          ? admitted.map(({ expected }) => expected)
          : undefined,
      })
    },
  }
}

/**
 * Takes events in, each with its message's latest state and its gap, and leases those that are to be: where the message has
 * no other unsettled event, and the event waits for none. The first write of each is refused where memory is full, and then
 * none is done.
 *
 * ARGV: now, call, dedupe (ms), most finals, lease (ms), holder or empty for no leases; then for each: place of its key in KEYS, message, id, order, final (1
 * or 0), step, awaits, gap (ms from now), to be leased (1 or 0), record, bytes. Returns for each 0 duplicate, 1 new, 2 late or a
 * text that says what is wrong; and the token of the lease, 0 for none. The same again to the same call.
 */
const ADMITTING = /* lua */ `
${WRITING}
${CLOSING}
${EXPECTED}
${KNOWN}
local FIRST, FIELDS = 7, 11
local mostFinals, leaseEnd, holder = tonumber(ARGV[4]), now + tonumber(ARGV[5]), ARGV[6]
-- One that is not known may have been taken for dead: whatever it leased, nobody would give back.
local mayHold = holder ~= '' and isKnown(holder)

-- More final records than are shown are not kept, and a message that is never at rest must not remember for ever.
local function forget(m, state)
  local finals, sweepAt = state.n or 0, state.p or 256
  if finals > mostFinals then
    local least, count = nil, 0
    for _, field in ipairs(redis.call('HKEYS', m)) do
      if string.sub(field, 1, 1) == 'F' then
        count = count + 1
        if not least or before(field, least) then least = field end
      end
    end
    if count > mostFinals then count = count - redis.call('HDEL', m, least) end
    state.n = count
  end
  if redis.call('HLEN', m) > sweepAt then
    local all = redis.call('HGETALL', m)
    local oldest = math.floor((now - tonumber(ARGV[3])) / 1000)
    for at = 1, #all, 2 do
      local isSettled = string.sub(all[at], 1, 1) == 'd' and not unsettledIn(all[at + 1])
      if isSettled and tonumber(string.match(all[at + 1], '^%d+')) < oldest then redis.call('HDEL', m, all[at]) end
    end
    state.p = math.max(256, 2 * redis.call('HLEN', m))
  end
  if state.n ~= finals and finals > 0 or state.p and state.p ~= sweepAt then
    redis.call('HSET', m, 'S', cmsgpack.pack(state))
  end
end

local function admit(at, again)
  enter(tonumber(ARGV[at]))
  local mk, id, order, final = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4] == '1'
  local step, awaits, record = tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6]), ARGV[at + 9]
  local call = ARGV[2] .. '.' .. (at - FIRST) / FIELDS
  local m = messageOf(mk)
  local known, packed, sameFinal, latest = unpack(redis.call('HMGET', m, 'd' .. id, 'S', 'F' .. order, 'R'))
  if known then
    local event = unsettledIn(known)
    if not event or event.c ~= call then return { 0, 0 } end
    local answer = { event.l and 2 or 1, soundEvent(event).k or 0 }
    return event.k and withExpected(answer, m, sound(stateIn(packed))) or answer
  end

  if not packed and latest and not again then error('damaged') end
  local state = packed and sound(stateIn(packed)) or {}
  local late = isLate(order, final, state)
  local waits = not late and awaits ~= 0 and bit.band(state.s or 0, awaits) == 0
  local closes = step ~= 0 and bit.band(state.g or 0, step) ~= 0
  -- What is at rest is held by nobody, and has no other event.
  local isAtRest = not state.f
  local leases = mayHold and isAtRest and not waits and ARGV[at + 8] == '1'
  local event = { q = order, f = final or nil, b = awaits ~= 0 and awaits or nil, l = late or nil, c = call,
    D = waits and now + tonumber(ARGV[at + 7]) or now }
  if isAtRest then
    -- What is at rest is not due, and what is not, is.
    if redis.call('ZADD', due, ms(leases and leaseEnd or event.D), mk) == 0 and not again then error('damaged') end
  elseif not redis.call('ZSCORE', due, mk) then
    error('damaged')
  end
  local isFirst = join(mk, state, id, order)
  if closes then
    state.g = state.g - bit.band(state.g, step)
    if closeGaps(mk, m, state, step) then isFirst = true end
  end
  if waits then state.g = bit.bor(state.g or 0, awaits) end
  if step ~= 0 then state.s = bit.bor(state.s or 0, step) end
  if leases then
    state.t = (state.t or 0) + 1
    state.u, state.i, state.H = leaseEnd, id, ms(state.t) .. ' ' .. holder
    event.a, event.k = 1, state.t
    if before(state.h or '', order) then state.h = order end
    if not final and before(state.o or '', order) then state.o = order end
  end

  local records = {}
  if order ~= '' and final and not sameFinal then
    records = { 'F' .. order, record }
    state.n = (state.n or 0) + 1
  end
  if order ~= '' and (not state.L or before(state.L, order)) then
    state.L = order
    if not final then
      records = { 'R', record }
      state.R = true
    elseif state.R then
      -- The record of the latest one stands there once: a final one among the finals.
      redis.call('HDEL', m, 'R')
      state.R = nil
    end
  end
  redis.call('HSET', m, 'd' .. id, cmsgpack.pack(event), 'S', cmsgpack.pack(state), unpack(records))
  redis.call('SET', eventOf(mk, id), record .. '\\n' .. ARGV[at + 10])
  if isFirst and not isAtRest then schedule(mk, state, state.f == id and event) end
  if packed then
    if isAtRest then redis.call('PERSIST', m) end
    forget(m, state)
  end
  local answer = { late and 2 or 1, event.k or 0 }
  return leases and withExpected(answer, m, state) or answer
end
`

/** See `ADMITTING`. */
const admitScript = script(/* lua */ `
${ADMITTING}
local answers = {}
for at = FIRST, #ARGV, FIELDS do
  local answer, trouble = try(admit, at, ARGV[at + 1])
  if fatal then return fatal end
  answers[#answers + 1] = answer or { trouble, 0 }
end
if miscounted then healer().settleCounts() end
return { answers, notes }
`)

/**
 * Admits events that say that their messages are overdue, where nobody has decided about that and the message has no end. ARGV
 * and what it returns are those of an admission, with 0 for what was not admitted; the same again to the same call.
 */
const admitOverdueScript = script(/* lua */ `
${ADMITTING}
local function decide(at, again)
  enter(tonumber(ARGV[at]))
  local mk = ARGV[at + 1]
  if redis.call('HEXISTS', messageOf(mk), 'd' .. ARGV[at + 2]) == 1 then
    redis.call('ZREM', base .. 'overdue', mk)
    return admit(at, again)
  end
  if not redis.call('ZSCORE', base .. 'overdue', mk) then return { 0, 0 } end
  local packed = redis.call('HGET', messageOf(mk), 'S')
  if not packed and not again then error('damaged') end
  local state = packed and sound(stateIn(packed)) or {}
  if hasEnd(state) then
    redis.call('ZREM', base .. 'overdue', mk)
    return { 0, 0 }
  end
  local answer = admit(at, again)
  redis.call('HSET', messageOf(mk), 'O', '1')
  redis.call('ZREM', base .. 'overdue', mk)
  return answer
end

local answers = {}
for at = FIRST, #ARGV, FIELDS do
  local answer, trouble = try(decide, at, ARGV[at + 1])
  if fatal then return fatal end
  answers[#answers + 1] = answer or { trouble, 0 }
end
if miscounted then healer().settleCounts() end
return { answers, notes }
`)
