/** What was sent to somebody: a look back through a bounded number of what was sent, in each partition. */
import type { SentToAnswer, SentToPage, StoredExpectation } from '../../inbox/store.ts'
import { isSentTo, MOST_SENT_LOOKED_AT, needlesOfSent } from '../../inbox/filters.ts'
import { pageOf } from '../pages.ts'
import type { Engine } from './engine.ts'
import { list, scoreOf, text } from './replies.ts'
import { script } from './scripted.ts'
import { PRELUDE } from './scripts/prelude.ts'

/** Looked at by one script, which takes some milliseconds of the server's time at most. */
const LEAST_A_STEP = 100

interface Place {
  readonly messageKey: string
  readonly atMs: number
}

type ReadAll = (places: readonly Place[]) => Promise<readonly StoredExpectation[]>

export function createSentTo(
  { redis, partitions }: Engine,
  readAll: ReadAll,
): (page: SentToPage) => Promise<SentToAnswer> {
  const most = Math.max(LEAST_A_STEP, Math.floor(MOST_SENT_LOOKED_AT / partitions.dueKeys.length))

  /** The last that was looked at, where there are more; and those that may be meant. */
  async function lookIn(dueKey: string, page: SentToPage) {
    const { after, limit, fromMs = -Infinity, toMs = Infinity } = page
    const [, score = '', key = ''] = /^(-?[\d.]+):(.*)$/s.exec(after ?? '') ?? []
    const from = Number.isFinite(fromMs) ? String(Math.floor(fromMs)) : '-inf'
    const to = Number.isFinite(toMs) ? `(${Math.floor(toMs)}` : '+inf'
    const args = ['', score === '' ? to : score, from, key, most, limit + 1, ...needlesOfSent(page)]
    const flat = list(await redis.run(sentToScript, [dueKey], args)).map(text)
    const [end, ...found] = Array.from({ length: flat.length / 2 }, (_, at): Place => {
      const [messageKey = '', atScore = ''] = flat.slice(2 * at, 2 * at + 2)
      return { messageKey, atMs: messageKey === '' ? 0 : scoreOf(atScore) }
    })
    return { end: end?.messageKey === '' ? undefined : end, found }
  }

  return async (page) => {
    const looks = await Promise.all(partitions.dueKeys.map((dueKey) => lookIn(dueKey, page)))
    // What another look would find in one partition comes before what is further back in the others.
    const [end] = looks.flatMap((look) => look.end ?? []).sort(newestFirst)
    const found = looks.flatMap((look) => look.found).sort(newestFirst)
    const whole = end === undefined ? found : found.filter((place) => newestFirst(place, end) <= 0)
    const { items, ...rest } = pageOf(whole, page.limit, (place) => place, written)
    const meant = (await readAll(items)).filter(({ expectation }) => isSentTo(page, expectation))
    if (rest.next !== undefined || end === undefined) return { items: meant, ...rest }
    return { items: meant, next: written(end), lookedBackToMs: end.atMs }
  }
}

function newestFirst(one: Place, other: Place): number {
  return other.atMs - one.atMs || (one.messageKey > other.messageKey ? -1 : one.messageKey < other.messageKey ? 1 : 0)
}

function written({ messageKey, atMs }: Place): string {
  return `${atMs}:${messageKey}`
}

/**
 * Looks back through what was sent. ARGV: now, from which time back, until which, message of the place or empty, how many to look
 * at, how many to find, then texts of which what is meant has one. Returns message and time of the last that was looked at, empty
 * where there are no more; then those of each that was found. Writes nothing.
 */
const sentToScript = script(/* lua */ `
${PRELUDE}
local from, to, after, most, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local function isMeant(mk)
  local sent = redis.pcall('HGET', messageOf(mk), 'E')
  for at = 7, #ARGV do
    if type(sent) == 'string' and string.find(sent, ARGV[at], 1, true) then return true end
  end
  return false
end
local seen, looked, offset = { '', '' }, 0, 0
while looked < most and #seen < 2 + limit * 2 do
  local some = redis.pcall('ZREVRANGEBYSCORE', base .. 'sent', from, to, 'WITHSCORES', 'LIMIT', offset, most)
  if some.err or #some == 0 then return seen end
  offset = offset + #some / 2
  for at = 1, #some, 2 do
    local isAfter = after == '' or tonumber(some[at + 1]) < tonumber(from) or before(some[at], after)
    if isAfter then
      looked = looked + 1
      if isMeant(some[at]) then
        seen[#seen + 1] = some[at]
        seen[#seen + 1] = some[at + 1]
      end
      if looked == most or #seen == 2 + limit * 2 then
        seen[1], seen[2] = some[at], some[at + 1]
        return seen
      end
    end
  end
end
return seen
`)
