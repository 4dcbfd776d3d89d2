/**
 * The list of events, as far as the keys still have them. No set of them is kept by time, for each would have to be entered
 * there: so a page of all events is found by a walk through all keys, in short steps, that keeps the newest.
 */
import { LAST_TIME_MS } from '../../inbox/record.ts'
import type { EventsAnswer, EventsPage, EventState, OpenStore, StoredEvent } from '../../inbox/store.ts'
import { isFiltered, isInTime, isMeant, meantOf } from '../../inbox/filters.ts'
import { newestOf, newestPageOf, writtenPlace } from '../pages.ts'
import { decodePayload } from './encoding.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { bytes, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { PRELUDE, WALK } from './scripts/prelude.ts'

/** Keys that a script looks at: a millisecond or two of the server's time. */
const KEYS_A_STEP = 200
/** Events that one call reads to know whether they are meant; each is a question of its own. */
const MOST_READ = 2_000
const READ_AT_ONCE = 100

interface Place {
  readonly dueKey: string
  readonly messageKey: string
  readonly id: string
  readonly atMs: number | undefined
}

export function createListing({ redis, partitions }: Engine): Pick<OpenStore, 'events'> {
  /** The newest ones of a walk through all, each once: a walk may come by twice. */
  async function newestOfAll(page: EventsPage, most = page.limit): Promise<readonly Place[]> {
    const { after, id = '', fromMs, toMs } = page
    const hasTimes = fromMs !== undefined || toMs !== undefined
    let newest: readonly Place[] = []
    for (const keys of partitions.groups) {
      let cursor = '0'
      do {
        const [next, ...flat] = list(await redis.run(listEventsScript, keys, ['', cursor, KEYS_A_STEP, id]))
        cursor = text(next)
        const found = readPlaces(flat.map(text), keys)
        const gathered = [...newest, ...(hasTimes ? found.filter(({ atMs }) => isInTime(page, atMs)) : found)]
        // Of many, they are put in order now and then.
        newest = gathered.length > 2 * most ? newestOf(gathered, after, most) : gathered
      } while (cursor !== '0')
    }
    return newestOf(newest, after, most)
  }

  /** A page of those that are meant, of which a bounded number is read. */
  async function look(page: EventsPage): Promise<EventsAnswer> {
    const places = await newestOfAll(page, MOST_READ)
    const items: StoredEvent[] = []
    for (let from = 0; from < Math.min(places.length, MOST_READ); from += READ_AT_ONCE) {
      const some = places.slice(from, Math.min(from + READ_AT_ONCE, MOST_READ))
      for (const event of await readAll(some)) {
        const last = items.at(-1)
        if (!isMeant(page, event)) continue
        if (items.length === page.limit && last !== undefined) return { items, next: writtenPlace(last) }
        items.push(event)
      }
    }
    const end = places.length > MOST_READ ? places[MOST_READ - 1] : undefined
    return end === undefined ? { items } : { items, next: writtenPlace(end), lookedBackToMs: end.atMs ?? 0 }
  }

  async function placesOfMessage(messageKey: string): Promise<readonly Place[]> {
    const dueKey = partitions.dueKeyOf(messageKey)
    const ids = list(await redis.run(eventsOfMessageScript, [dueKey], ['', messageKey]))
    return ids.map((id) => ({ dueKey, messageKey, id: text(id), atMs: undefined }))
  }

  async function read({ dueKey, messageKey, id, atMs }: Place): Promise<StoredEvent | undefined> {
    const reply = list(await redis.run(eventScript, [dueKey], ['', messageKey, id]))
    const [state, attempts = '', late, due = '', ended = '', error, order] = reply.slice(0, -1).map(text)
    const found = STATES.find((each) => each === state)
    // It was forgotten since.
    if (found === undefined) return undefined
    const payload = bytes(reply.at(-1))
    const { record, raw } = payload.length === 0 ? NO_PAYLOAD : decodePayload(payload)
    return {
      id,
      state: found,
      atMs: atMs ?? record?.receivedAtMs ?? numberOrNone(ended) ?? numberOrNone(due),
      late: late === '' ? undefined : late === '1',
      attempts: numberOrNone(attempts),
      admittedAtMs: undefined,
      dueMs: numberOrNone(due),
      endedAtMs: numberOrNone(ended),
      error: found === 'dead' ? error : undefined,
      order: order === '' ? undefined : order,
      record,
      raw,
    }
  }

  async function readAll(places: readonly Place[]): Promise<readonly StoredEvent[]> {
    return (await Promise.all(places.map(read))).filter((event) => event !== undefined)
  }

  return {
    async events(page) {
      const { messageKey, id } = page
      if (messageKey !== undefined) {
        const events = (await readAll(await placesOfMessage(messageKey))).filter(
          (event) => id === undefined || event.id === id,
        )
        return meantOf(
          newestPageOf(events, page, (event) => event),
          page,
        )
      }
      if (isFiltered(page) && id === undefined) return look(page)
      const { items: places, ...rest } = newestPageOf(await newestOfAll(page), page, (place) => place)
      return meantOf({ items: await readAll(places), ...rest }, page)
    },
  }
}

const STATES: readonly EventState[] = ['due', 'leased', 'settled', 'dead']
const NO_PAYLOAD = { record: undefined, raw: undefined } as const

function readPlaces(flat: readonly string[], keys: Keys): readonly Place[] {
  return Array.from({ length: Math.floor(flat.length / 4) }, (_, index): Place => {
    const [place, messageKey = '', id = '', at = ''] = flat.slice(4 * index, 4 * index + 4)
    return { dueKey: keys[Number(place) - 1] ?? keys[0], messageKey, id, atMs: numberOrNone(at) }
  })
}

function numberOrNone(value: string): number | undefined {
  const number = value === '' ? NaN : Number(value)
  return Number.isFinite(number) && Math.abs(number) <= LAST_TIME_MS ? Math.floor(number) : undefined
}

/**
 * Walks through the keys of some partitions, a step at a time, for what they know of events. KEYS: due sets of one slot, or of a
 * server without slots. ARGV: now, cursor, keys a step, id of the one that is wanted or empty. Returns the cursor to go on from,
 * then place of its partition in KEYS, message, id and time of each: the second of its settlement, else when it is due, was to
 * be, or died; empty where that cannot be read. Writes nothing.
 */
const listEventsScript = script(/* lua */ `
${PRELUDE}
${WALK}
local only = ARGV[4]
local found = keysLike('m:*')
local seen = { found[1] }
local function list(place, mk, id, known)
  local second, event = string.match(known, '^%d+'), unpacked(known)
  local died = redis.pcall('ZSCORE', base .. 'dead', id)
  local at = type(died) == 'string' and died or second and second .. '000'
    or event and type(event.D) == 'number' and ms(event.D) or ''
  for _, value in ipairs({ tostring(place), mk, id, at }) do seen[#seen + 1] = value end
end
for _, key in ipairs(found[2]) do
  local place = places[string.sub(key, 1, #base)]
  if place then
    enter(place)
    local mk = string.sub(key, #base + 3)
    if only ~= '' then
      local known = redis.pcall('HGET', key, 'd' .. only)
      if type(known) == 'string' then list(place, mk, only, known) end
    else
      local all = redis.pcall('HGETALL', key)
      for at = 1, all.err and 0 or #all, 2 do
        if string.sub(all[at], 1, 1) == 'd' then list(place, mk, string.sub(all[at], 2), all[at + 1]) end
      end
    end
  end
end
return seen
`)

/** The events that a message knows. ARGV: now, message. Returns their ids. Writes nothing. */
const eventsOfMessageScript = script(/* lua */ `
${PRELUDE}
local fields, ids = redis.pcall('HKEYS', messageOf(ARGV[2])), {}
for _, field in ipairs(fields.err and {} or fields) do
  if string.sub(field, 1, 1) == 'd' then ids[#ids + 1] = string.sub(field, 2) end
end
return ids
`)

/**
 * What is kept of one event. ARGV: now, message, id. Returns its state (due, leased, settled, dead), then, each empty where
 * nobody knows it: attempts, late (1 or 0), time from when it is due or until when it is leased, time of its end, error, order,
 * record and bytes. Nothing where its message does not know it. Writes nothing.
 */
const eventScript = script(/* lua */ `
${PRELUDE}
local mk, id = ARGV[2], ARGV[3]
local m = messageOf(mk)
local found = redis.pcall('HMGET', m, 'd' .. id, 'S')
if found.err or not found[1] then return {} end
local function whole(number) return type(number) == 'number' and number >= 0 and number < 9007199254740992 and ms(number) or '' end
local function text(value) return type(value) == 'string' and value or '' end
local payload = redis.pcall('GET', eventOf(mk, id))
local second = string.match(found[1], '^%d+')
if second then
  local died = redis.pcall('ZSCORE', base .. 'dead', id)
  local dead = type(died) == 'string' and (unpacked(redis.pcall('HGET', base .. 'deadof', id)) or {})
  if not dead then return { 'settled', '', '', '', second .. '000', '', '', text(payload) } end
  return { 'dead', whole(dead.a), dead.l and '1' or '0', '', died, text(dead.E), text(dead.q), text(payload) }
end
local event = unpacked(found[1]) or {}
local state = found[2] and unpacked(found[2]) or {}
local leased = state.u and state.i == id
return { leased and 'leased' or 'due', whole(event.a or 0), event.l and '1' or '0', whole(leased and state.u or event.D), '', '',
  text(event.q), text(payload) }
`)
