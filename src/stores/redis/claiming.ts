/** Handing events over: a look at what is due everywhere, then a lease on the longest due. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { Claim, ClaimRequest, ClaimResult, Settlement } from '../../inbox/store.ts'
import { callsFor, isFailure, throwFirst, valuesOf, type Call, type Unanswered } from './calls.ts'
import type { Reply } from './clients/connection.ts'
import { createLook, type Entry } from './due.ts'
import { decodePayload } from './encoding.ts'
import type { Engine } from './engine.ts'
import type { Expecting } from './expecting.ts'
import type { GiveBack, Holders } from './holders.ts'
import { bytes, integer, isSet, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { KEEPING } from './scripts/holders.ts'
import { WRITING } from './scripts/heal.ts'
import { BURY, EXPECTED } from './scripts/message.ts'

/** Others take what was seen here: after so many looks the dispatcher asks again by itself. */
const MOST_LOOKS = 5

type Unreadable = Omit<Claim, 'record'>

interface ClaimingOptions {
  readonly engine: Engine
  readonly unanswered: Unanswered
  readonly holders: Holders
  readonly expecting: Pick<Expecting, 'read'>
  readonly settle: (settlements: readonly Settlement[], nowMs: number) => Promise<readonly boolean[]>
  readonly giveBack: GiveBack
}

export function createClaiming(options: ClaimingOptions): (request: ClaimRequest) => Promise<ClaimResult> {
  const { engine, unanswered, holders, expecting, settle, giveBack } = options
  const { redis, partitions, retention, timeFor, damage } = engine
  const look = createLook(engine)

  /** Under new names, unless they have some: what may have been given to a call before. */
  async function take(
    { keys, members }: Call<{ readonly messageKey: string; readonly name?: string; readonly holder?: string }>,
    { nowMs, leaseUntilMs }: ClaimRequest,
  ): Promise<readonly Claim[]> {
    const asked = members.map(({ item, name, key }) => ({ key, messageKey: item.messageKey, name: item.name ?? name }))
    const fields = asked.flatMap(({ key, messageKey, name }) => [key, messageKey, name])
    let reply: Reply
    let holder: string | undefined
    try {
      holder = await holders.sure(keys[0])
      const args = [timeFor(nowMs), Math.round(leaseUntilMs - nowMs), retention.deadLetterMs, holder, ...fields]
      reply = await redis.run(claimScript, [...keys, partitions.homeOf(keys[0])], args)
    } catch (error) {
      const unheard = members.map(({ item, name }) => ({
        messageKey: item.messageKey,
        name: item.name ?? name,
        leaseUntilMs,
        // Before we were sure, nothing was asked for, but what had been before.
        holder: item.holder ?? holder ?? '',
      }))
      unanswered.add(unheard.filter((each) => each.holder !== ''))
      throw error
    }
    const [isKnown, found, notes] = list(reply)
    damage.tell(notes)
    // The next look asks under which name we may.
    if (isKnown !== 1) holders.refuse(keys[0], holder)
    const claims: Claim[] = []
    const unreadable: Unreadable[] = []
    for (const each of list(found)) {
      const { record, json: _, ...claim } = readClaim(each, expecting)
      if (record === undefined) unreadable.push(claim)
      else claims.push({ ...claim, record })
    }
    if (unreadable.length > 0) await setAside(unreadable, nowMs)
    if (holders.isOurs(keys[0], holder)) return claims
    // We were taken for dead meanwhile.
    giveBack(claims, nowMs)
    return []
  }

  /** What it holds stays as it is: the dead letter shows what can be read of it. */
  async function setAside(unreadable: readonly Unreadable[], nowMs: number): Promise<void> {
    const errors = unreadable.map(({ id }) => new MessagingWebhooksError('event_damaged', `It is e of event ${id}.`))
    const settlements = unreadable.map(({ id, messageKey, token }, at): Settlement => ({
      id,
      messageKey,
      token,
      outcome: 'dead',
      error: errors[at]?.message ?? '',
    }))
    const held = await settle(settlements, nowMs).catch(() => {
      // The server is away: the leases run out, and it is met once more.
      return unreadable.map(() => false)
    })
    damage.tell(unreadable.filter((_, at) => held[at] === true).map(({ id }) => ['event_damaged', id, 'e']))
  }

  /** What a connection that broke kept from us is not left to run out with its lease. */
  async function takeUnanswered(request: ClaimRequest): Promise<readonly Claim[]> {
    const calls = callsFor(unanswered.take(request), engine)
    // What fails once more is unanswered still, and no reason to leave the rest.
    return valuesOf(await Promise.allSettled(calls.map((call) => take(call, request)))).flat()
  }

  return async (request) => {
    const { limit, nowMs, leaseUntilMs, exclude } = request
    const claims: Claim[] = [...(await takeUnanswered(request))]
    for (let looks = 1; ; looks += 1) {
      let results: readonly PromiseSettledResult<readonly Claim[]>[]
      let entries: readonly Entry[]
      let wanted: readonly Entry[]
      try {
        const taken = new Set(claims.map(({ messageKey }) => messageKey))
        const wantedCount = limit - claims.length
        entries = await look(nowMs, wantedCount, [exclude, taken])
        wanted = entries.filter(({ inMs }) => inMs <= 0).slice(0, wantedCount)
        results = await Promise.allSettled(callsFor(wanted, engine).map((call) => take(call, request)))
        if (claims.length === 0 && valuesOf(results).flat().length === 0) throwFirst(results)
      } catch (error) {
        // What was taken is ours and must run; what failed is asked for again by the next claim.
        if (claims.length > 0) return { claims, nextDueMs: nowMs }
        throw error
      }
      const found = valuesOf(results).flat()
      claims.push(...found)
      if (found.length < wanted.length && looks < MOST_LOOKS && !results.some(isFailure)) continue
      const next = entries.filter((entry) => !wanted.includes(entry) && Number.isFinite(entry.inMs))
      const rest = next.map(({ inMs }) => nowMs + inMs)
      if (found.length < wanted.length) rest.push(nowMs)
      if (claims.length > 0) rest.push(leaseUntilMs)
      return { claims, nextDueMs: rest.length === 0 ? undefined : Math.min(...rest) }
    }
  }
}

function readClaim(reply: Reply, expecting: Pick<Expecting, 'read'>) {
  const [messageKey, id, token, attempt, late, replay, payload, sent, wasOverdue] = list(reply)
  const expected = sent === undefined ? undefined : expecting.read(text(messageKey), sent, wasOverdue)
  return {
    ...(expected && { expected }),
    id: text(id),
    messageKey: text(messageKey),
    token: integer(token),
    attempt: integer(attempt),
    late: isSet(late),
    replay: isSet(replay),
    ...decodePayload(bytes(payload)),
  }
}

const LOST = JSON.stringify(new MessagingWebhooksError('event_damaged').message)

/**
 * Leases messages and hands out the first event of each; a message that somebody else holds or that is not due is left
 * out. One of which nothing but its name is left becomes a dead letter; a message that cannot be healed is put off for a minute.
 * Run again by the same call, it gives the same.
 *
 * ARGV: now, lease (ms), dead letters (ms), holder; then for each: place of its key in KEYS, message, call. Returns 0 where the
 * holder is taken for dead, else 1; for each handed out: message, id, token, attempt, late, replay, record and bytes, and where it is expected that and whether it was overdue; and what is
 * to be reported. The first write is one that is allowed
 * where memory is full: what is handed over makes room.
 */
const claimScript = script(/* lua */ `
${WRITING}
${EXPECTED}
${BURY}
${KEEPING}
local FIRST, FIELDS = 5, 3
local leaseEnd, keepDead, holder = now + tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
if not isKnown(holder) then
  local keep = keeper()
  if keep.isBuried(holder) then return { 0, {} } end
  -- The store has lost it: it would not ask if it were not sure of its life.
  keep.mend()
  keep.enter(holder)
end

local claims = {}
local function claim(at, again)
  enter(tonumber(ARGV[at]))
  local mk, call = ARGV[at + 1], ARGV[at + 2]
  local m = messageOf(mk)
  local packed = redis.call('HGET', m, 'S')
  local state = packed and sound(stateIn(packed)) or {}
  if not state.f then
    -- Mostly another process has settled it since it was seen.
    if not again and redis.call('ZSCORE', due, mk) then error('damaged') end
    redis.call('ZREM', due, mk)
    return
  end
  if state.w and redis.call('ZCOUNT', waitingOf(mk), 0, 0) ~= state.w then error('damaged') end
  local held = state.u and state.u > now
  local id = held and state.i or state.f
  local known = id and redis.call('HGET', m, 'd' .. id)
  local event = known and unsettledIn(known)
  if held and (not event or event.c ~= call or state.H ~= ms(state.t) .. ' ' .. holder) then return end
  if not event or soundEvent(event).q ~= state.q and id == state.f then error('damaged') end
  local payload = redis.pcall('GET', eventOf(mk, id))
  if type(payload) ~= 'string' then
    redis.call('ZREM', due, mk)
    redis.call('UNLINK', eventOf(mk, id))
    redis.call('SET', eventOf(mk, id), '')
    bury(mk, id, state, event, ${LOST}, keepDead)
    leave(mk, state, id, event.q)
    state.u, state.i, state.H = nil, nil, nil
    redis.call('HSET', m, 'd' .. id, math.max(1, math.floor(now / 1000)) .. ' ' .. call, 'S', cmsgpack.pack(state))
    schedule(mk, state)
    note('event_damaged', id, 'e')
    return
  end
  if not held then
    redis.call('ZREM', due, mk)
    if event.D > now then
      state.u, state.i, state.H = nil, nil, nil
      redis.call('HSET', m, 'S', cmsgpack.pack(state))
      schedule(mk, state, event)
      return
    end
    -- Above every token that an event of its has had, whatever became of the state meanwhile.
    state.t = math.max(state.t or 0, event.k or 0) + 1
    state.u, state.i, state.H = leaseEnd, id, ms(state.t) .. ' ' .. holder
    event.a, event.k, event.c = (event.a or 0) + 1, state.t, call
    if before(state.h or '', event.q) then state.h = event.q end
    if not event.f and before(state.o or '', event.q) then state.o = event.q end
    redis.call('HSET', m, 'S', cmsgpack.pack(state), 'd' .. id, cmsgpack.pack(event))
    redis.call('ZADD', due, ms(leaseEnd), mk)
  end
  claims[#claims + 1] = withExpected({ mk, id, event.k, event.a, event.l and 1 or 0, event.y and 1 or 0, payload }, m, state)
end

for at = FIRST, #ARGV, FIELDS do
  local _, trouble = try(claim, at, ARGV[at + 1])
  if fatal then return fatal end
  if trouble then redis.call('ZADD', due, ms(now + 60000), ARGV[at + 1]) end
end
if miscounted then healer().settleCounts() end
return { 1, claims, notes }
`)
