/** What was sent: a field of its message, which stands in two sorted sets, by its send and by when it is overdue. */
import { encodeExpectation, type KnownExpectation } from '../../inbox/expected.ts'
import type { EndedExpectation, NewExpectation, OpenStore, StoredExpectation } from '../../inbox/store.ts'
import { pageOf } from '../pages.ts'
import { callsFor, inPlace, type Call } from './calls.ts'
import type { Reply } from './clients/connection.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { knownIn, readState } from './reading.ts'
import { bytes, integer, list, orThrow, scoreOf, text } from './replies.ts'
import { script } from './scripted.ts'
import { WRITING } from './scripts/heal.ts'
import { CLOSING, EXPECTED } from './scripts/message.ts'
import { PRELUDE } from './scripts/prelude.ts'
import { createSentTo } from './sent-to.ts'

export interface Expecting extends Required<
  Pick<OpenStore, 'expect' | 'overdue' | 'awaitNoMore' | 'expectations' | 'sentTo'>
> {
  /** What a script answered of a message. Where it cannot be read, nothing is expected any more. */
  read(messageKey: string, sent: Reply, wasOverdue: Reply | undefined): KnownExpectation | undefined
}

interface Found {
  readonly messageKey: string
  readonly atMs: number
  readonly sent: Buffer
}

/** Read at once. */
const AT_ONCE = 50

/** `announce`: what waited may be due. */
export function createExpecting(engine: Engine, announce: () => void): Expecting {
  const { redis, partitions, retention, timeFor, latestTime, damage } = engine

  async function expectCall({ name, keys, members }: Call<NewExpectation>, nowMs: number): Promise<readonly boolean[]> {
    const fields = members.flatMap(({ item, key }) => {
      const { messageKey, sentAtMs, overdueAtMs, expectation } = item
      const delayMs = overdueAtMs === undefined ? '' : Math.max(0, Math.round(overdueAtMs - nowMs))
      return [key, messageKey, Math.floor(sentAtMs), delayMs, encodeExpectation(expectation)]
    })
    const args = [timeFor(nowMs), name, retention.dedupeMs, ...fields]
    const [answers, notes] = list(await redis.run(expectScript, keys, args))
    damage.tell(notes)
    return list(answers).map((answer) => orThrow(answer) === 1)
  }

  function expectNothing(messageKey: string): void {
    // Whoever meets it again does the same.
    redis.run(expectNothingScript, [partitions.dueKeyOf(messageKey)], [latestTime(), messageKey]).catch(() => {})
  }

  function read(messageKey: string, sent: Reply, wasOverdue: Reply | undefined): KnownExpectation | undefined {
    const known = knownIn(sent, wasOverdue)
    if (known === undefined) {
      expectNothing(messageKey)
      damage.tell([['state_damaged', messageKey, 'E']])
    }
    return known
  }

  async function endWaits({ keys, members }: Call<EndedExpectation>, nowMs: number): Promise<void> {
    const fields = members.flatMap(({ item, key }) => [key, item.messageKey, encodeExpectation(item.expectation)])
    await redis.run(awaitNoMoreScript, keys, [timeFor(nowMs), ...fields])
  }

  async function overdueIn(keys: Keys, nowMs: number, most: number) {
    const [serverNow, next, ...flat] = list(await redis.run(overdueScript, keys, [timeFor(nowMs), most]))
    const found = Array.from({ length: flat.length / 3 }, (_, at): Found => {
      const [messageKey, score, sent] = flat.slice(3 * at, 3 * at + 3)
      return { messageKey: text(messageKey), atMs: scoreOf(text(score)), sent: bytes(sent) }
    })
    const nextIn = text(next) === '' ? undefined : scoreOf(text(next)) - integer(serverNow)
    return { found, nextIn }
  }

  async function placesIn(dueKey: string, after: string | undefined, limit: number, fromMs: number, toMs: number) {
    const [, score = String(Math.floor(fromMs)), key = ''] = /^(-?[\d.]+):(.*)$/s.exec(after ?? '') ?? []
    const args = ['', score, `(${Math.floor(toMs)}`, key, limit]
    const flat = list(await redis.run(sentPageScript, [dueKey], args))
    return Array.from({ length: flat.length / 2 }, (_, at) => {
      return { messageKey: text(flat[2 * at]), atMs: scoreOf(text(flat[2 * at + 1])) }
    })
  }

  async function readOne({ messageKey }: { readonly messageKey: string }): Promise<readonly StoredExpectation[]> {
    const { latest, known } = await readState(engine, messageKey)
    if (known === undefined) return []
    return [{ ...known, messageKey, latest: latest && { ...latest, expected: known } }]
  }

  async function readAll(messages: readonly { readonly messageKey: string }[]): Promise<readonly StoredExpectation[]> {
    const found: StoredExpectation[] = []
    for (let from = 0; from < messages.length; from += AT_ONCE)
      found.push(...(await Promise.all(messages.slice(from, from + AT_ONCE).map(readOne))).flat())
    return found
  }

  return {
    read,
    async expect(messages, nowMs) {
      const calls = callsFor(messages, engine, ({ expectation }) => JSON.stringify(expectation).length)
      const answers = inPlace(calls, await Promise.all(calls.map((call) => expectCall(call, nowMs))))
      if (messages.length > 0) announce()
      return answers
    },
    async overdue({ nowMs, limit }) {
      const all = await Promise.all(partitions.groups.map((keys) => overdueIn(keys, nowMs, limit)))
      const found = all.flatMap((each) => each.found).sort((a, b) => a.atMs - b.atMs)
      const items = found.slice(0, limit).flatMap(({ messageKey, sent }) => {
        // One that was forgotten, or ran out, is nothing that was spoilt.
        if (sent.length === 0) {
          expectNothing(messageKey)
          return []
        }
        const known = read(messageKey, sent, 0)
        return known === undefined ? [] : [{ messageKey, expectation: known.expectation }]
      })
      const times = all.flatMap(({ nextIn }) => (nextIn === undefined ? [] : nowMs + nextIn))
      return { items, nextMs: found.length >= limit ? nowMs : times.length === 0 ? undefined : Math.min(...times) }
    },
    async awaitNoMore(ended, nowMs) {
      await Promise.all(callsFor(ended, engine).map(async (call) => endWaits(call, nowMs)))
    },
    async expectations({ after, limit, fromMs, toMs, messageKey }) {
      if (messageKey !== undefined) return { items: await readOne({ messageKey }) }
      const each = partitions.dueKeys.map((dueKey) => placesIn(dueKey, after, limit + 1, fromMs, toMs))
      const places = (await Promise.all(each))
        .flat()
        .sort((a, b) => a.atMs - b.atMs || (a.messageKey < b.messageKey ? -1 : 1))
      const { items, ...rest } = pageOf(
        places,
        limit,
        (place) => place,
        ({ messageKey, atMs }) => `${atMs}:${messageKey}`,
      )
      return { items: await readAll(items), ...rest }
    },
    sentTo: createSentTo(engine, readAll),
  }
}

/**
 * Writes down what was sent, and ends the wait of what overtook it. ARGV: now, call, dedupe (ms); then for each: place of its key in
 * KEYS, message, time of the send, how long from now it will be overdue or empty for never, and what is expected. Returns for each 1,
 * or 0 where it is known, or a text that says what is wrong; and what is to be reported. The same again to the same call. The first
 * write is refused where memory is full, and then none is done.
 */
const expectScript = script(/* lua */ `
${WRITING}
${CLOSING}
local FIRST, FIELDS = 4, 5
local dedupe = tonumber(ARGV[3])

local function expect(at, again)
  enter(tonumber(ARGV[at]))
  local mk, delay = ARGV[at + 1], tonumber(ARGV[at + 3])
  local call = ARGV[2] .. '.' .. (at - FIRST) / FIELDS
  local m = messageOf(mk)
  local packed, sent = unpack(redis.call('HMGET', m, 'S', 'E'))
  if sent then
    local known = packed and unpacked(packed)
    return known and known.e == call and 1 or 0
  end
  if not packed and not again and redis.call('EXISTS', m) == 1 then error('damaged') end
  local state = packed and sound(stateIn(packed)) or {}
  local overdue = delay and now + delay
  redis.call('ZADD', base .. 'sent', ARGV[at + 2], mk)
  if overdue then redis.call('ZADD', base .. 'overdue', ms(overdue), mk) end
  state.s, state.e = bit.bor(state.s or 0, 8), call
  -- Until then the message is kept.
  state.x = math.max(state.x or 0, (overdue or now) + dedupe)
  local isFirst = false
  if state.g and bit.band(state.g, 8) ~= 0 then
    state.g = state.g - 8
    isFirst = closeGaps(mk, m, state, 8)
  end
  redis.call('HSET', m, 'E', ARGV[at + 4], 'S', cmsgpack.pack(state))
  if isFirst then schedule(mk, state) end
  if not state.f then redis.call('PEXPIRE', m, ms(math.max(dedupe, state.x - now))) end
  return 1
end

local answers = {}
for at = FIRST, #ARGV, FIELDS do
  local answer, trouble = try(expect, at, ARGV[at + 1])
  if fatal then return fatal end
  answers[#answers + 1] = answer or trouble
end
if miscounted then healer().settleCounts() end
return { answers, notes }
`)

/** Nothing is expected of a message any more. ARGV: now, message. The first write is one that is allowed where memory is full. */
const expectNothingScript = script(/* lua */ `
${PRELUDE}
${EXPECTED}
expectNothing(ARGV[2])
return 1
`)

/**
 * Nothing more is awaited of messages. ARGV: now; then for each: place of its key in KEYS, message, and what is kept of it. The first
 * write is one that is allowed where memory is full.
 */
const awaitNoMoreScript = script(/* lua */ `
${PRELUDE}
for at = 2, #ARGV, 3 do
  enter(tonumber(ARGV[at]))
  local mk = ARGV[at + 1]
  redis.call('ZREM', base .. 'overdue', mk)
  local m = messageOf(mk)
  if redis.pcall('HEXISTS', m, 'E') == 1 then redis.call('HSET', m, 'E', ARGV[at + 2]) end
end
return 1
`)

/**
 * What is overdue in all these partitions. ARGV: now, most of each. Returns now; when the next will be, or nothing; and of each
 * message, time, and what is expected, empty where that is gone. Writes nothing.
 */
const overdueScript = script(/* lua */ `
${PRELUDE}
local seen, next = { ms(now), '' }, nil
for key = 1, #KEYS do
  enter(key)
  local some = redis.pcall('ZRANGEBYSCORE', base .. 'overdue', '-inf', ms(now), 'WITHSCORES', 'LIMIT', 0, tonumber(ARGV[2]))
  for at = 1, some.err and 0 or #some, 2 do
    local sent = redis.pcall('HGET', messageOf(some[at]), 'E')
    for _, value in ipairs({ some[at], some[at + 1], type(sent) == 'string' and sent or '' }) do seen[#seen + 1] = value end
  end
  local later = redis.pcall('ZRANGEBYSCORE', base .. 'overdue', '(' .. ms(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local score = not later.err and later[2]
  if score and (not next or tonumber(score) < tonumber(next)) then next = score end
end
seen[2] = next or ''
return seen
`)

/**
 * What was sent, from a place on. ARGV: now, time of the place, end of the range, message of the place, limit. Returns message, time,
 * message, time, ... Writes nothing.
 */
const sentPageScript = script(/* lua */ `
${PRELUDE}
local from, to, after, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local found, offset = {}, 0
while #found < limit * 2 do
  local some = redis.pcall('ZRANGEBYSCORE', base .. 'sent', from, to, 'WITHSCORES', 'LIMIT', offset, limit)
  if some.err or #some == 0 then break end
  offset = offset + #some / 2
  for at = 1, #some, 2 do
    local isAfter = after == '' or tonumber(some[at + 1]) > tonumber(from) or before(after, some[at])
    if isAfter and #found < limit * 2 then
      found[#found + 1] = some[at]
      found[#found + 1] = some[at + 1]
    end
  end
end
return found
`)
