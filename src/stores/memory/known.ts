/**
 * Every message that the store knows: those of which something waits, and what is remembered of the settled ones: so many
 * events, for so long; the longest unused message is forgotten first.
 */
import { isKnown, newMessage, type Message } from './message.ts'
import { isPacked, packedEvents, packMessage, settledAtMsOf, unpackMessage } from './packing.ts'

/** One of which something waits, or a settled one, packed. */
export type Known = Message | string

interface KnownMessages {
  /** A settled one counts as used. */
  find(key: string, nowMs: number): Known | undefined
  /** One of which something waits. */
  findActive(key: string): Message | undefined
  /** From now on something of it waits; `found` is what `find` says. */
  activate(key: string, found: Known | undefined, nowMs: number): Message
  /** Nothing of it waits any more. */
  settle(message: Message, nowMs: number): void
  /** All of them; it uses none. */
  all(): Iterable<readonly [key: string, value: Known]>
  /** Forgets up to `most` messages that are too old; says how many. One used since then goes later, and is found no more. */
  prune(nowMs: number, most: number): number
}

/** What is settled so soon keeps the place that it got when it came: to move an entry costs more than to change it. */
const KEEPS_PLACE_MS = 1_000

export function hasEvent(known: Known, id: string): boolean {
  return typeof known === 'string' ? isPacked(known, id) : isKnown(known, id)
}

export function unpacked(key: string, known: Known): Message {
  return typeof known === 'string' ? unpackMessage(key, known) : known
}

export function createKnownMessages(bounds: { readonly maxEvents: number; readonly lifeMs: number }): KnownMessages {
  const { maxEvents, lifeMs } = bounds
  /**
   * In the order of the last use, those of `older` before those of `newer`; settled ones are packed. Two maps, for the
   * oldest one of a map is found at once only by an iterator that is kept, and that keeps every table that a growing map
   * left behind: so only `newer` grows, and only of `older` there is an iterator.
   *
   * The active ones have no map of their own: in a small map that is filled and emptied all the time, V8 makes a table
   * after the other, and each, once it is old, keeps the next one and what was in it until a collection of the whole heap.
   */
  let older = new Map<string, Known>()
  let newer = new Map<string, Known>()
  let walk = older.entries()
  let oldest: string | undefined
  /** That are settled. */
  let events = 0

  function get(key: string): Known | undefined {
    return newer.get(key) ?? older.get(key)
  }

  function remove(key: string): void {
    if (!older.delete(key)) newer.delete(key)
  }

  function use(key: string, value: Known): void {
    remove(key)
    newer.set(key, value)
    if (typeof value !== 'string') value.place = newer
  }

  function forget(key: string, text: string): void {
    remove(key)
    events -= packedEvents(text)
  }

  /** Of the settled ones. */
  function findOldest(): readonly [key: string, text: string] | undefined {
    while (events > 0) {
      const value = oldest === undefined ? undefined : older.get(oldest)
      if (oldest !== undefined && typeof value === 'string') return [oldest, value]
      if (oldest !== undefined && value !== undefined) use(oldest, value)
      const next = walk.next()
      oldest = next.value?.[0]
      if (next.done === true) {
        older = newer
        newer = new Map()
        walk = older.entries()
      }
    }
    return undefined
  }

  return {
    find(key, nowMs) {
      const value = get(key)
      if (typeof value !== 'string') return value
      if (settledAtMsOf(value) + lifeMs < nowMs) {
        forget(key, value)
        return undefined
      }
      use(key, value)
      return value
    },
    findActive(key) {
      const value = get(key)
      return typeof value === 'string' ? undefined : value
    },
    activate(key, found, nowMs) {
      if (typeof found === 'object') return found
      const message = found === undefined ? newMessage(key) : unpackMessage(key, found)
      message.activeSinceMs = nowMs
      if (found !== undefined) forget(key, found)
      newer.set(key, message)
      message.place = newer
      return message
    },
    settle(message, nowMs) {
      const { key, activeSinceMs, place, settledIds } = message
      const text = packMessage(message, nowMs)
      if (nowMs - activeSinceMs < KEEPS_PLACE_MS) place?.set(key, text)
      else use(key, text)
      events += settledIds.length
      while (events > maxEvents) {
        const first = findOldest()
        if (first === undefined) break
        forget(...first)
      }
    },
    *all() {
      yield* older
      yield* newer
    },
    prune(nowMs, most) {
      let forgotten = 0
      while (forgotten < most) {
        const first = findOldest()
        if (first === undefined || settledAtMsOf(first[1]) + lifeMs >= nowMs) break
        forget(...first)
        forgotten += 1
      }
      return forgotten
    },
  }
}
