/** What is asked of the store and changes nothing in it. */
import { readExpectation, type KnownExpectation } from '../../inbox/expected.ts'
import type { OpenStore, StoredDeadLetter, StoredLatest } from '../../inbox/store.ts'
import { LAST_TIME_MS, readRecord } from '../../inbox/record.ts'
import { pageOf } from '../pages.ts'
import { decodeDead } from './encoding.ts'
import type { Engine } from './engine.ts'
import type { Reply } from './clients/connection.ts'
import { bytes, integer, isSet, list, scoreOf, text } from './replies.ts'
import { script } from './scripted.ts'
import { PRELUDE } from './scripts/prelude.ts'

/** The place of a dead letter among all of them: its cursor. */
interface Place {
  readonly dueKey: string
  readonly id: string
  readonly messageKey: string
  /** As Redis has it, to go on from. */
  readonly score: string
  readonly diedAtMs: number
}

/** What is known of a message: its latest state, and what is expected of it. */
export async function readState(
  { redis, partitions }: Engine,
  messageKey: string,
): Promise<{ readonly latest: StoredLatest | undefined; readonly known: KnownExpectation | undefined }> {
  const reply = await redis.run(latestScript, [partitions.dueKeyOf(messageKey)], ['', messageKey])
  const [sent, wasOverdue, ...states] = list(reply)
  const [newest, ...all] = states.map((found) => readRecord(bytes(found)))
  const finals = all.filter((record) => record !== undefined)
  const record = newest ?? finals.at(-1)
  return { latest: record && { record, finals }, known: knownIn(sent, wasOverdue) }
}

/** What a script answers of it; undefined where nothing is expected, or it cannot be read. */
export function knownIn(sent: Reply | undefined, wasOverdue: Reply | undefined): KnownExpectation | undefined {
  const expectation = sent === undefined ? undefined : readExpectation(bytes(sent))
  return expectation && { expectation, wasOverdue: isSet(wasOverdue ?? 0) }
}

export function createReading(engine: Engine): Pick<OpenStore, 'latest' | 'deadLetters' | 'counts'> {
  const { redis, partitions } = engine
  async function placesIn(dueKey: string, after: string | undefined, limit: number): Promise<readonly Place[]> {
    const [score, id] = after === undefined ? ['-inf', ''] : placeOf(after)
    const flat = list(await redis.run(deadPageScript, [dueKey], ['', score, id, limit]))
    return Array.from({ length: flat.length / 3 }, (_, at) => {
      const found = text(flat[3 * at + 2])
      return {
        dueKey,
        id: text(flat[3 * at]),
        messageKey: text(flat[3 * at + 1]),
        score: found,
        diedAtMs: timeOf(found),
      }
    })
  }

  async function read({ dueKey, id, messageKey, diedAtMs }: Place): Promise<StoredDeadLetter | undefined> {
    const [attempts, error, payload, sent, wasOverdue] = list(
      await redis.run(deadLetterScript, [dueKey], ['', messageKey, id]),
    )
    // It was replayed since.
    if (payload === undefined) return undefined
    const letter = {
      id,
      attempts: integer(attempts),
      error: text(error),
      diedAtMs,
      ...decodeDead(bytes(payload), diedAtMs),
    }
    const expected = knownIn(sent, wasOverdue)
    return expected === undefined ? letter : { ...letter, expected }
  }

  return {
    async latest(messageKey) {
      const { latest, known } = await readState(engine, messageKey)
      return latest && { ...latest, ...(known && { expected: known }) }
    },
    async deadLetters({ after, limit }) {
      const places = (await Promise.all(partitions.dueKeys.map((dueKey) => placesIn(dueKey, after, limit + 1))))
        .flat()
        .sort((a, b) => a.diedAtMs - b.diedAtMs || (a.id < b.id ? -1 : 1))
      const { items, ...rest } = pageOf(places, limit, read, ({ score, id }) => `${score}:${id}`)
      return { items: (await Promise.all(items)).filter((letter) => letter !== undefined), ...rest }
    },
    async counts() {
      const replies = await Promise.all(partitions.groups.map((keys) => redis.run(countsScript, keys, [''])))
      const sum = (at: number): number => replies.reduce((total: number, reply) => total + integer(list(reply)[at]), 0)
      return { unsettled: sum(0), deadLetters: sum(1) }
    },
  }
}

function placeOf(after: string): readonly [score: string, id: string] {
  const end = after.indexOf(':')
  return [after.slice(0, end), after.slice(end + 1)]
}

function timeOf(score: string): number {
  return Math.max(0, Math.min(LAST_TIME_MS, scoreOf(score)))
}

/**
 * The latest state of a message. ARGV: now, message. Returns what is expected of it (empty for nothing), whether it was overdue, its record and the final ones in order, or nothing; where something
 * is spoilt, as much as there is.
 */
const latestScript = script(/* lua */ `
${PRELUDE}
local m = messageOf(ARGV[2])
local found = redis.pcall('HMGET', m, 'S', 'R', 'E', 'O')
if found.err then return { '', 0 } end
local sent, wasOverdue = found[3] or '', found[4] and 1 or 0
local state = found[1] and unpacked(found[1]) or {}
local orders, records = {}, {}
if state.n or not state.L or not found[2] then
  local all = redis.call('HGETALL', m)
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, 1) == 'F' then
      orders[#orders + 1] = all[at]
      records[all[at]] = all[at + 1]
    end
  end
  table.sort(orders, before)
end
local answer = { found[2] or type(state.L) == 'string' and records['F' .. state.L] or records[orders[#orders]] or nil }
if not answer[1] then return { sent, wasOverdue } end
for _, order in ipairs(orders) do answer[#answer + 1] = records[order] end
return { sent, wasOverdue, unpack(answer) }
`)

/**
 * The oldest dead letters after a place. ARGV: now, time and id of the place (-inf and empty for the beginning), limit.
 * Returns id, message, time, id, message, time, ...; the message is empty where nobody knows it any more. Writes nothing.
 */
const deadPageScript = script(/* lua */ `
${PRELUDE}
local from, after, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local found, offset = {}, 0
while #found < limit * 3 do
  local some = redis.pcall('ZRANGEBYSCORE', base .. 'dead', from, '+inf', 'WITHSCORES', 'LIMIT', offset, limit)
  if some.err or #some == 0 then break end
  offset = offset + #some / 2
  for at = 1, #some, 2 do
    local id, died = some[at], some[at + 1]
    if (died ~= from or before(after, id)) and #found < limit * 3 then
      found[#found + 1] = id
      local dead = unpacked(redis.pcall('HGET', base .. 'deadof', id))
      found[#found + 1] = dead and type(dead.m) == 'string' and dead.m or ''
      found[#found + 1] = died
    end
  end
end
return found
`)

/**
 * One dead letter. ARGV: now, message, id. Returns attempts, error, record and bytes, each empty where it is lost; nothing where
 * it is none.
 */
const deadLetterScript = script(/* lua */ `
${PRELUDE}
if not tonumber(redis.pcall('ZSCORE', base .. 'dead', ARGV[3]) or nil) then return {} end
local event = unpacked(redis.pcall('HGET', base .. 'deadof', ARGV[3])) or {}
local payload = redis.pcall('GET', eventOf(ARGV[2], ARGV[3]))
local sent = redis.pcall('HMGET', messageOf(ARGV[2]), 'E', 'O')
if sent.err then sent = {} end
return { type(event.a) == 'number' and event.a >= 0 and event.a < 1000000 and event.a or 0,
  type(event.E) == 'string' and event.E or '', type(payload) == 'string' and payload or '',
  sent[1] or '', sent[2] and 1 or 0 }
`)

/** How much is unsettled and dead in all these partitions. ARGV: now. Returns both numbers. */
const countsScript = script(/* lua */ `
${PRELUDE}
-- What somebody else has spoilt counts for nothing, until prune mends it.
local function count(found)
  local number = type(found) ~= 'table' and tonumber(found) or 0
  return number >= 0 and number < 9007199254740992 and number or 0
end
local unsettled, dead = 0, 0
for key = 1, #KEYS do
  enter(key)
  unsettled = unsettled + count(redis.pcall('ZCARD', due)) + count(redis.pcall('GET', base .. 'more'))
  dead = dead + count(redis.pcall('ZCARD', base .. 'dead'))
end
return { unsettled, dead }
`)
