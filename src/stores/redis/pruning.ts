/**
 * Forgetting dead letters that are too old, a step at a time; all else runs out by itself. And finding what no verb would meet any
 * more, for somebody else has spoilt it: a walk through all keys, of which each call makes a bounded part.
 */
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { integer, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { PRUNE } from './scripts/prune.ts'
import { WALK } from './scripts/walk.ts'

const pruneScript = script(PRUNE)
const walkScript = script(WALK)
const A_STEP = 100
/** Keys that a script looks at: a millisecond or two of the server's time. */
const KEYS_A_STEP = 100
/** Of one call, over all groups of partitions. */
const STEPS = 100

/** Where in a partition the next call goes on. */
interface Place {
  readonly dead: string
  readonly known: string
  /** Dead letters that nobody knows the message of, with the walk that had begun when they were found. */
  readonly lost: ReadonlyMap<string, number>
}

const BEGINNING: Place = { dead: '0', known: '0', lost: new Map() }

export function createPruning(engine: Engine): (nowMs: number) => Promise<number> {
  const { redis, partitions, retention, timeFor, damage } = engine
  const { retentionMs, deadLetterMs, dedupeMs } = retention
  const places = new Map<string, Place>()
  const walks = new Map<string, { readonly cursor: string; readonly round: number }>()
  const stepsEach = Math.max(1, Math.floor(STEPS / partitions.groups.length))

  async function prune(dueKey: string, walk: string, nowMs: number): Promise<number> {
    const { dead, known, lost } = places.get(dueKey) ?? BEGINNING
    const { round } = walks.get(walk) ?? { round: 0 }
    // One whole walk since has not met it: of its message nothing is left.
    const given = [...lost].filter(([, since]) => since + 1 < round).map(([id]) => id)
    const reply = await redis.run(pruneScript, [dueKey], [timeFor(nowMs), deadLetterMs, A_STEP, dead, known, ...given])
    const [forgotten, nextDead, nextKnown, found, notes] = list(reply)
    damage.tell(notes)
    const stillLost = list(found).map(text)
    places.set(dueKey, {
      dead: String(integer(nextDead)),
      known: text(nextKnown),
      lost: new Map(stillLost.map((id) => [id, lost.get(id) ?? round])),
    })
    return integer(forgotten)
  }

  async function walk(keys: Keys, nowMs: number): Promise<void> {
    const lost = keys.flatMap((key) => [...(places.get(key)?.lost.keys() ?? [])])
    for (let steps = 0; steps < stepsEach; steps += 1) {
      const { cursor, round } = walks.get(keys[0]) ?? { cursor: '0', round: 0 }
      const args = [timeFor(nowMs), cursor, KEYS_A_STEP, dedupeMs, retentionMs, ...lost]
      const [next, notes] = list(await redis.run(walkScript, keys, args))
      damage.tell(notes)
      const isEnd = text(next) === '0'
      walks.set(keys[0], { cursor: text(next), round: isEnd ? round + 1 : round })
      if (isEnd) {
        if (keys === partitions.groups[0]) damage.lookedAtAll()
        return
      }
    }
  }

  return async (nowMs) => {
    const forgotten = await Promise.all(
      partitions.groups.flatMap((keys) => keys.map((key) => prune(key, keys[0], nowMs))),
    )
    await Promise.all(partitions.groups.map((keys) => walk(keys, nowMs)))
    return forgotten.reduce((total, number) => total + number, 0)
  }
}
