/**
 * Giving back what the dead hold: a walk through all leases of a group of partitions. Where it goes on stands in the store, so
 * that whoever is there takes the next step, and nothing is lost with a process that had begun it.
 */
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { integer, isSet, list } from './replies.ts'
import { script } from './scripted.ts'
import { KEEPING, LEASES } from './scripts/holders.ts'
import { WRITING } from './scripts/heal.ts'

/** Messages that a script looks at: a millisecond or two of the server's time. */
const A_STEP = 400

export interface Sweeping {
  /** Until all is given back, or it is to end. Rejects where the server is away. */
  sweep(): Promise<void>
  /** After the step that is under way. */
  end(): void
}

export function createSweeping({ redis, damage, latestTime }: Engine, keys: Keys, onReleased: () => void): Sweeping {
  let ended = false
  let underWay: Promise<void> | undefined

  async function walk(): Promise<void> {
    for (let isMore = true; isMore && !ended;) {
      const [more, released, notes] = list(await redis.run(sweepScript, [...keys, keys[0]], [latestTime(), A_STEP]))
      damage.tell(notes)
      if (integer(released) > 0) onReleased()
      isMore = isSet(more ?? 0)
    }
  }

  return {
    sweep() {
      underWay ??= walk().finally(() => {
        underWay = undefined
      })
      return underWay
    },
    end() {
      ended = true
    },
  }
}

/**
 * Takes the next step of a walk through all leases, and ends those that the dead hold: the message is due as if it had never
 * been leased, but that the attempt counts. A holder that nobody knows has as long as any other to show life.
 *
 * KEYS: the due sets of a group, and the first of them once more. ARGV: now, most messages to look at. Returns whether there is
 * more, how many leases were ended, and what is to be reported.
 */
const sweepScript = script(/* lua */ `
${WRITING}
${KEEPING}
${LEASES}
local keep = keeper()
local sweep = keep.sweep
keep.mend()
-- A write that is allowed where memory is full.
redis.call('HDEL', sweep, '')
local place = redis.call('HMGET', sweep, 'at', 'from', 'since')
local at, from, since = tonumber(place[1]), place[2], place[3]
if not at or not from or not since then
  redis.call('UNLINK', sweep)
  return { 0, 0, notes or {} }
end
if at < 1 or at % 1 ~= 0 then at = 1 end

local fates = {}
local function isDead(holder)
  if fates[holder] == nil then
    local isLost = not isKnown(holder)
    fates[holder] = isLost and keep.isBuried(holder)
    if isLost and not fates[holder] then keep.enter(holder) end
  end
  return fates[holder]
end

local released = 0
local function release(mk, again)
  local m = messageOf(mk)
  local packed = redis.call('HGET', m, 'S')
  if not packed then return end
  local state = sound(stateIn(packed))
  local holder = holderIn(state)
  if not holder or not isDead(holder) then return end
  state.u, state.i, state.H = nil, nil, nil
  redis.call('HSET', m, 'S', cmsgpack.pack(state))
  schedule(mk, state)
  released = released + 1
end

local left = tonumber(ARGV[2])
while at < #KEYS and left > 0 do
  enter(at)
  local members, following = pageFrom(from, left)
  for _, mk in ipairs(members) do
    try(release, mk, mk)
    if fatal then return fatal end
  end
  left = left - #members - 1
  if following then from = following else at, from = at + 1, since end
end
if at < #KEYS then redis.call('HSET', sweep, 'at', at, 'from', from) else redis.call('UNLINK', sweep) end
if miscounted then healer().settleCounts() end
return { at < #KEYS and 1 or 0, released, notes or {} }
`)
