/** Showing life: a process says that it is there, hears whether it is still known, and buries those that were silent for too long. */
import { DEAD_AFTER_MS, GAP_MS, HOLDER_NAME, type Beat, type Beaten } from '../holding.ts'
import type { Engine } from './engine.ts'
import { integer, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { KEEPING } from './scripts/holders.ts'
import { WRITING } from './scripts/heal.ts'

/** For so long a command of a dead process may still arrive: longer than anybody waits for an answer. */
const BURIED_MS = 60_000

export interface Beating {
  /** `isSure`: nobody can have taken us for dead yet. */
  beat(beat: Beat, isSure: boolean): Promise<Beaten & { readonly isSweeping: boolean }>
  /** What this holder has leased is given back by the next sweep. */
  leave(holder: string): Promise<void>
}

/** `home`: the first due set of the group. */
export function createBeating({ redis, damage, latestTime }: Engine, home: string, instance: string): Beating {
  return {
    async beat({ id, isFirst }, isSure) {
      const about = `${instance} ${HOLDER_NAME}`
      const args = [latestTime(), id, isFirst ? 1 : 0, isSure ? 1 : 0, about, DEAD_AFTER_MS, GAP_MS]
      const [known, others, nextDeath, sweeping, notes] = list(await redis.run(beatScript, [home], args))
      damage.tell(notes)
      return {
        isKnown: known === 1,
        isAlone: others === 0,
        nextDeathInMs: text(nextDeath) === '' ? undefined : integer(nextDeath),
        // Whoever sweeps says what is due again.
        hasReleased: false,
        isSweeping: sweeping === 1,
      }
    },
    async leave(holder) {
      damage.tell(await redis.run(leaveScript, [home], [latestTime(), holder]))
    },
  }
}

const BURYING = /* lua */ `
${WRITING}
${KEEPING}
local keep = keeper()
local holders, holderof, buried, sweep = keep.holders, keep.holderof, keep.buried, keep.sweep
-- All leases are looked at from the beginning: see sweeping.ts.
local function beginSweep()
  local since = '(' .. ms(now)
  redis.call('HSET', sweep, 'at', 1, 'from', since, 'since', since)
end

local function buryHolder(holder)
  redis.call('ZREM', holders, holder)
  redis.call('HDEL', holderof, holder)
  redis.call('ZADD', buried, ms(now), holder)
  redis.call('PEXPIRE', buried, ${2 * BURIED_MS})
  beginSweep()
end
`

/**
 * Shows life, and buries whoever was silent for too long, unless nobody at all showed life meanwhile. KEYS: the first due set of a
 * group. ARGV: now, holder, whether nobody knows it yet, whether it is sure that nobody can have taken it for dead (1 or 0), what
 * it says of itself, silence after which one is dead, and silence of all after which each is given that time anew (ms). Returns 1
 * or 0 where it is not known any more; how many others there are; when the next of them is dead (ms from now) or empty; whether
 * there is something to sweep; and what is to be reported.
 */
const beatScript = script(/* lua */ `
${BURYING}
local holder, isFirst, isSure, about = ARGV[2], ARGV[3] == '1', ARGV[4] == '1', ARGV[5]
local deadAfter, gap = tonumber(ARGV[6]), tonumber(ARGV[7])
keep.mend()
-- A write that is allowed where memory is full.
redis.call('HDEL', keep.steady, '')
local before = redis.call('HMGET', keep.steady, 'since', 'last')
local steadySince, last = tonumber(before[1]) or now, tonumber(before[2]) or 0
-- A time that is yet to come is of a clock that was set back.
if not (math.abs(now - last) <= gap and steadySince <= now + gap) then steadySince = now end
redis.call('HSET', keep.steady, 'since', ms(steadySince), 'last', ms(now))

local isThere = isKnown(holder)
local isNamed = isThere and redis.call('HEXISTS', holderof, holder) == 1
if keep.isBuried(holder) or not (isFirst or isNamed or isSure) then return { 0, 0, '', 0, notes or {} } end
keep.enter(holder)
if not isNamed then redis.call('HSET', holderof, holder, ms(now) .. ' ' .. about) end
-- Leases of those that nobody knows are looked for by whoever comes, and by whoever learns that the store has lost some.
if isFirst or not isThere then beginSweep() end

if steadySince <= now - deadAfter then
  for _, range in ipairs({ { '-inf', '(' .. ms(now - deadAfter) }, { '(' .. ms(now + deadAfter), '+inf' } }) do
    for _, other in ipairs(redis.call('ZRANGEBYSCORE', holders, range[1], range[2], 'LIMIT', 0, 1000)) do buryHolder(other) end
  end
end
redis.call('ZREMRANGEBYSCORE', buried, '-inf', ms(now - ${BURIED_MS}))
local eldest = redis.call('ZRANGE', holders, 0, 1, 'WITHSCORES')
local beaten, nextDeath = tonumber(eldest[eldest[1] == holder and 4 or 2]), ''
if beaten then nextDeath = ms(math.max(beaten, steadySince) + deadAfter + 1 - now) end
return { 1, redis.call('ZCARD', holders) - 1, nextDeath, redis.call('EXISTS', sweep), notes or {} }
`)

/** A holder goes. KEYS: the first due set of its group. ARGV: now, holder. Returns what is to be reported. */
const leaveScript = script(/* lua */ `
${BURYING}
keep.mend()
buryHolder(ARGV[2])
return notes or {}
`)
