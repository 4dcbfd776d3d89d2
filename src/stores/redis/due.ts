/** A look at what is due, everywhere at once: it writes nothing. */
import { throwFirst, valuesOf } from './calls.ts'
import type { Reply } from './clients/connection.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { integer, list, scoreOf, text } from './replies.ts'
import { script } from './scripted.ts'
import { PRELUDE } from './scripts/prelude.ts'

/** A message in a due set. */
export interface Entry {
  readonly messageKey: string
  /** From now, by the clock of its server; negative where it is due. */
  readonly inMs: number
}

/** One more than are wanted, the longest due first; none of the messages in `ours`. */
type Look = (nowMs: number, wanted: number, ours: readonly ReadonlySet<string>[]) => Promise<readonly Entry[]>

export function createLook({ redis, partitions, timeFor }: Engine): Look {
  async function peek(keys: Keys, nowMs: number, most: number): Promise<readonly (readonly Entry[])[]> {
    const [serverNow, ...sets] = list(await redis.run(peekScript, keys, [timeFor(nowMs), most]))
    const serverNowMs = integer(serverNow)
    // What is not of this partition is no message of ours; prune takes it out.
    return sets.map((set, at) =>
      entriesOf(set, serverNowMs).filter(({ messageKey }) => partitions.dueKeyOf(messageKey) === keys[at]),
    )
  }

  /** One more than are wanted says what comes next; what is ours may stand before it, and then we look further. */
  async function peekPast(keys: Keys, nowMs: number, wanted: number, ours: readonly ReadonlySet<string>[]) {
    const few = wanted + 1
    const isOurs = ({ messageKey }: Entry): boolean => ours.some((set) => set.has(messageKey))
    const first = await peek(keys, nowMs, few)
    const isCutShort = first.some((entries) => entries.length === few && entries.some(isOurs))
    const past = ours.reduce((most, { size }) => most + size, few)
    const seen = isCutShort ? await peek(keys, nowMs, past) : first
    return seen.flat().filter((entry) => !isOurs(entry))
  }

  return async (nowMs, wanted, ours) => {
    // Where one server of several is away, the others' messages go on.
    const seen = await Promise.allSettled(partitions.groups.map((keys) => peekPast(keys, nowMs, wanted, ours)))
    const entries = valuesOf(seen).flat()
    if (entries.every(({ inMs }) => inMs > 0)) throwFirst(seen)
    return entries.sort((a, b) => a.inMs - b.inMs)
  }
}

function entriesOf(set: Reply, serverNowMs: number): readonly Entry[] {
  const flat = list(set)
  return Array.from({ length: flat.length / 2 }, (_, at) => ({
    messageKey: text(flat[2 * at]),
    inMs: scoreOf(text(flat[2 * at + 1])) - serverNowMs,
  }))
}

/**
 * What is due, and when the next is. KEYS: due sets of one slot, or of a server without slots. ARGV: now, most of each.
 * Returns now, then for each key a list of message, time, message, time, ... Writes nothing; one that is no set has nothing due,
 * until prune or the next event mends it.
 */
const peekScript = script(/* lua */ `
${PRELUDE}
local seen = { ms(now) }
for at, key in ipairs(KEYS) do
  local set = redis.pcall('ZRANGE', key, 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
  seen[at + 1] = set.err and {} or set
end
return seen
`)
