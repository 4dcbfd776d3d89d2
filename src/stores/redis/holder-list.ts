/** Who has the store open, and how much each holds: for people who look on. */
import type { OpenStore, StoreHolder } from '../../inbox/store.ts'
import type { Engine } from './engine.ts'
import type { Holders } from './holders.ts'
import type { Keys } from './partitions.ts'
import { integer, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { LEASES } from './scripts/holders.ts'
import { PRELUDE } from './scripts/prelude.ts'

/** Messages that a script looks at: a millisecond or two of the server's time. */
const A_STEP = 400

export function createHolderList(
  { redis, partitions, latestTime }: Engine,
  holders: Holders,
): Pick<OpenStore, 'holders'> {
  /** By holder. */
  async function heldIn(keys: Keys): Promise<ReadonlyMap<string, number>> {
    const held = new Map<string, number>()
    let [at, from] = ['1', '']
    while (at !== '') {
      const [nextAt, nextFrom, ...counts] = list(await redis.run(heldScript, keys, [latestTime(), at, from, A_STEP]))
      for (let each = 0; each < counts.length; each += 2) {
        const holder = text(counts[each])
        held.set(holder, (held.get(holder) ?? 0) + integer(counts[each + 1]))
      }
      ;[at, from] = [text(nextAt), text(nextFrom)]
    }
    return held
  }

  /** As the group knows them, with what tells processes apart: each is another one in each group. */
  async function holdersIn(keys: Keys): Promise<readonly (readonly [instance: string, holder: StoreHolder])[]> {
    const [flat, held] = [list(await redis.run(holdersScript, [keys[0]], [latestTime()])), await heldIn(keys)]
    return Array.from({ length: Math.floor(flat.length / 3) }, (_, at) => {
      const [id = '', silentMs = '', about = ''] = flat.slice(3 * at, 3 * at + 3).map(text)
      const [, since = '0', instance = '', name = ''] = /^(\d{1,15}) (\S+) (.*)$/s.exec(about) ?? []
      const holder = {
        id,
        name,
        isSelf: holders.isOurs(keys[0], id),
        sinceMs: Number(since),
        silentMs: Math.max(0, integer(silentMs)),
        held: held.get(id) ?? 0,
      }
      // Of one that has not named itself since the store lost it, nothing is known but its leases.
      return [instance === '' ? id : instance, holder] as const
    })
  }

  return {
    async holders() {
      const processes = new Map<string, StoreHolder>()
      for (const [instance, holder] of (await Promise.all(partitions.groups.map(holdersIn))).flat()) {
        const other = processes.get(instance)
        processes.set(instance, other === undefined ? holder : together(other, holder))
      }
      return [...processes.values()].toSorted((a, b) => (a.sinceMs ?? 0) - (b.sinceMs ?? 0) || (a.id < b.id ? -1 : 1))
    },
  }
}

/** One process, as two groups of partitions know it; servers of a cluster have clocks of their own. */
function together(one: StoreHolder, other: StoreHolder): StoreHolder {
  return {
    ...one,
    isSelf: one.isSelf || other.isSelf,
    sinceMs: Math.min(one.sinceMs ?? Infinity, other.sinceMs ?? Infinity),
    silentMs: Math.min(one.silentMs, other.silentMs),
    held: one.held + other.held,
  }
}

/**
 * Who shows life. KEYS: the first due set of a group. ARGV: now. Returns for each its id, how long it has been silent (ms), and
 * since when it is there and what it says of itself, or that it was last heard. Writes nothing.
 */
const holdersScript = script(/* lua */ `
${PRELUDE}
local found = redis.pcall('ZRANGE', base .. 'holders', 0, 999, 'WITHSCORES')
local answer = {}
for at = 1, found.err and 0 or #found, 2 do
  local shown = math.max(0, math.min(tonumber(found[at + 1]), now))
  local about = redis.pcall('HGET', base .. 'holderof', found[at])
  for _, value in ipairs({ found[at], ms(now - shown), type(about) == 'string' and about or ms(shown) .. ' ' .. found[at] .. ' ' }) do
    answer[#answer + 1] = value
  end
end
return answer
`)

/**
 * How many events each holder has, a step at a time. KEYS: the due sets of a group. ARGV: now, place in KEYS and time to go on
 * from, most messages to look at. Returns place and time to go on from, empty at the end; then holder and number of each.
 * Writes nothing.
 */
const heldScript = script(/* lua */ `
${PRELUDE}
${LEASES}
local at, from, left = tonumber(ARGV[2]), ARGV[3] ~= '' and ARGV[3] or '(' .. ms(now), tonumber(ARGV[4])
local held = {}
while at <= #KEYS and left > 0 do
  enter(at)
  local members, following = pageFrom(from, left)
  for _, mk in ipairs(members) do
    local packed = redis.pcall('HGET', messageOf(mk), 'S')
    local state = type(packed) == 'string' and unpacked(packed)
    local holder = state and holderIn(state)
    if holder then held[holder] = (held[holder] or 0) + 1 end
  end
  left = left - #members - 1
  if following then from = following else at, from = at + 1, '(' .. ms(now) end
end
local answer = at <= #KEYS and { tostring(at), from } or { '', '' }
for holder, number in pairs(held) do
  answer[#answer + 1] = holder
  answer[#answer + 1] = number
end
return answer
`)
