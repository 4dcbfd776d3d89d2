/**
 * Every message that the store knows: those of which something waits, and what is remembered of the settled ones: so many
 * events, for so long; the longest unused message is forgotten first.
 */
import { LRUCache } from 'lru-cache'
import { churningMap, removeMember } from '../../churning-map.ts'
import { NEW_MESSAGE, packedIds, packMessage, settledAtMsOf, unpacked, type Known, type Message } from './message.ts'

interface KnownMessages {
  /** A settled one counts as used. */
  find(key: string, nowMs: number): Known | undefined
  /** From now on something of it waits; `found` is what `find` says. */
  activate(key: string, found: Known | undefined, nowMs: number): Message
  /** Nothing of it waits any more. */
  settle(message: Message, nowMs: number): void
  /** As `find`, but for its age, and it uses none. */
  peek(key: string): Known | undefined
  /** Puts another text in the place of a settled one's; how many events it has stays the same. */
  replace(key: string, text: string): void
  /** All of them; it uses none. */
  all(): Iterable<readonly [key: string, value: Known]>
  /** Forgets up to `most` messages that are too old; says how many. One used since then goes later, and is found no more. */
  prune(nowMs: number, most: number): number
}

/**
 * At 10^6 known messages, lru-cache takes 467 bytes of heap for one and 5.0 microseconds for an event that comes and is
 * settled; two maps, of which the oldest entry is found by an iterator, take 413 bytes and 6.6 (`bench/micro/known.ts`).
 */
export function createKnownMessages(bounds: { readonly maxEvents: number; readonly lifeMs: number }): KnownMessages {
  const { lifeMs } = bounds
  /** Packed. A message is as large as it has events. */
  const settled = new LRUCache<string, string>({
    maxSize: Math.min(Math.ceil(bounds.maxEvents), Number.MAX_SAFE_INTEGER),
  })
  const active = churningMap<string, Message>()

  return {
    find(key, nowMs) {
      const message = active.members.get(key)
      if (message !== undefined) return message
      const text = settled.get(key)
      if (text === undefined || settledAtMsOf(text) + lifeMs >= nowMs) return text
      settled.delete(key)
      return undefined
    },
    activate(key, found, nowMs) {
      if (typeof found === 'object') return found
      const message = { ...(found === undefined ? NEW_MESSAGE : unpacked(key, found)), key, activeSinceMs: nowMs }
      if (found !== undefined) settled.delete(key)
      active.members.set(key, message)
      return message
    },
    settle(message, nowMs) {
      const { key, settledIds } = message
      settled.set(key, packMessage(message, nowMs), { size: settledIds.length })
      removeMember(active, key)
    },
    peek: (key) => active.members.get(key) ?? settled.peek(key),
    replace(key, text) {
      settled.set(key, text, { size: packedIds(text).length })
    },
    *all() {
      yield* settled.entries()
      yield* active.members
    },
    prune(nowMs, most) {
      let forgotten = 0
      while (forgotten < most) {
        const [oldest] = settled.rvalues()
        if (oldest === undefined || settledAtMsOf(oldest) + lifeMs >= nowMs) break
        settled.pop()
        forgotten += 1
      }
      return forgotten
    },
  }
}
