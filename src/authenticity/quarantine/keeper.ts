/**
 * Where kept requests stand: in memory, within bounds, the most precious longest. Nothing here waits, and nothing else of
 * the quarantine knows how a request is kept.
 */
import { createHash } from 'node:crypto'
import { UNTOLD, type KeeperChanges } from './changes.ts'
import {
  QUARANTINE_CLASSES,
  type ExactCallback,
  type KeptRequest,
  type QuarantineClass,
  type Standing,
} from './request.ts'
import { addTo, newShelf, sizeOf, takeFrom, withOwnBytes, type Shelf } from './shelf.ts'

interface KeeperLimits {
  /** Of bodies, headers and what it takes to keep them. */
  readonly maxBytes: number
  readonly maxAgeMs: number
}

interface Keeper {
  /** `known` where the same body is kept already, in this class or a better one. */
  keep(callback: ExactCallback, standing: Standing): 'kept' | 'known' | 'dropped'
  /**
   * One that an earlier process kept takes its old place in the order of arrival; undefined where it is too old, is kept
   * already, or has no room. Tells no one.
   */
  restore(remembered: Omit<KeptRequest, 'id'>, nowMs: number): KeptRequest | undefined
  /** In order of arrival. */
  all(): readonly KeptRequest[]
  /** Those whose credentials could not be looked up, in order of arrival. */
  unchecked(): readonly KeptRequest[]
  remove(request: KeptRequest): void
  /** More is known of it now. Where its new class is full, it keeps its place in the old one. */
  reclass(request: KeptRequest, standing: Standing): void
  /** Forgets what is too old; says when something will be next. */
  expire(nowMs: number): number | undefined
  clear(): void
  count(of: QuarantineClass | 'unchecked'): number
  readonly size: number
  readonly bytes: number
  /** How many were not kept, or had to go, for want of room. */
  readonly dropped: number
}

/** Places in the order of arrival that one millisecond has. */
const SEQUENCES_A_MS = 1_024

export function memoryKeeper({ maxBytes, maxAgeMs }: KeeperLimits, changes: KeeperChanges = UNTOLD): Keeper {
  const shelves = new Map<QuarantineClass, Shelf>()
  const byId = new Map<string, KeptRequest>()
  const sequences = new Set<number>()
  let bytes = 0
  let lastSequence = 0
  let unchecked = 0
  let dropped = 0

  function shelfOf(name: QuarantineClass): Shelf {
    let shelf = shelves.get(name)
    if (shelf === undefined) {
      shelf = newShelf(name, maxBytes)
      shelves.set(name, shelf)
    }
    return shelf
  }

  /** Makes room in the shelves of worse classes; false where there is none to be had. */
  function makeRoom(name: QuarantineClass, size: number): boolean {
    const own = shelfOf(name)
    if (own.bytes + size > own.maxBytes) return false
    const worse = QUARANTINE_CLASSES.slice(QUARANTINE_CLASSES.indexOf(name) + 1).map(shelfOf)
    const reclaimable = worse.reduce((sum, shelf) => sum + shelf.bytes, 0)
    if (bytes - reclaimable + size > maxBytes) return false
    for (const shelf of worse.reverse()) {
      while (bytes + size > maxBytes) {
        const newest = shelf.requests.at(-1)
        if (newest === undefined) break
        takeOut(newest)
        dropped += 1
      }
    }
    return true
  }

  function place(request: KeptRequest): void {
    addTo(shelfOf(request.class), request)
    bytes += sizeOf(request.callback)
    if (request.unchecked) unchecked += 1
    sequences.add(request.sequence)
    byId.set(request.id, request)
  }

  function unplace(kept: KeptRequest): void {
    byId.delete(kept.id)
    sequences.delete(kept.sequence)
    takeFrom(shelfOf(kept.class), kept)
    bytes -= sizeOf(kept.callback)
    if (kept.unchecked) unchecked -= 1
  }

  function takeOut(kept: KeptRequest): void {
    unplace(kept)
    changes.removed(kept)
  }

  /** Grows with the time, so that the order outlives the process. No two requests have the same. */
  function freeSequence(wanted: number): number {
    let sequence = Number.isSafeInteger(wanted) ? wanted : lastSequence + 1
    while (sequences.has(sequence)) sequence += 1
    lastSequence = Math.max(lastSequence, sequence)
    return sequence
  }

  return {
    keep(callback, standing) {
      const id = idOf(callback)
      const known = byId.get(id)
      if (known !== undefined) {
        if (QUARANTINE_CLASSES.indexOf(known.class) <= QUARANTINE_CLASSES.indexOf(standing.class)) return 'known'
        unplace(known)
      }
      if (makeRoom(standing.class, sizeOf(callback))) {
        const wanted = Math.max(lastSequence + 1, Math.floor(callback.arrivedAtMs) * SEQUENCES_A_MS)
        const request = { ...standing, id, sequence: freeSequence(wanted), callback: withOwnBytes(callback) }
        place(request)
        changes.kept(request)
        return 'kept'
      }
      if (known !== undefined) {
        place(known)
        return 'known'
      }
      dropped += 1
      return 'dropped'
    },
    restore(remembered, nowMs) {
      const { class: name, sequence, callback } = remembered
      if (nowMs - callback.arrivedAtMs >= maxAgeMs) return undefined
      const id = idOf(callback)
      const known = byId.get(id)
      if (known !== undefined) {
        // Of the same body, the better class counts, and then what came first, as in `keep`.
        const worse = QUARANTINE_CLASSES.indexOf(name) - QUARANTINE_CLASSES.indexOf(known.class)
        if (worse > 0 || (worse === 0 && known.sequence <= sequence)) return undefined
        takeOut(known)
      }
      if (!makeRoom(name, sizeOf(callback))) {
        dropped += 1
        return undefined
      }
      const request = { ...remembered, id, sequence: freeSequence(sequence), callback: withOwnBytes(callback) }
      place(request)
      return request
    },
    all: () => [...byId.values()].sort((a, b) => a.sequence - b.sequence),
    unchecked: () => [...byId.values()].filter((kept) => kept.unchecked).sort((a, b) => a.sequence - b.sequence),
    remove(request) {
      const kept = byId.get(request.id)
      // The same body may have come again with a better proof while this one was being looked at.
      if (kept?.sequence === request.sequence) takeOut(kept)
    },
    reclass(request, standing) {
      const kept = byId.get(request.id)
      if (kept?.sequence !== request.sequence) return
      unplace(kept)
      const hasRoom = makeRoom(standing.class, sizeOf(request.callback))
      const placed = { ...request, ...standing, class: hasRoom ? standing.class : request.class }
      place(placed)
      changes.kept(placed)
    },
    expire(nowMs) {
      let oldestMs = Infinity
      for (const { requests } of shelves.values()) {
        let [oldest] = requests
        while (oldest !== undefined && nowMs - oldest.callback.arrivedAtMs >= maxAgeMs) {
          takeOut(oldest)
          oldest = requests[0]
        }
        oldestMs = Math.min(oldestMs, oldest?.callback.arrivedAtMs ?? Infinity)
      }
      return oldestMs === Infinity ? undefined : oldestMs + maxAgeMs
    },
    clear() {
      shelves.clear()
      byId.clear()
      sequences.clear()
      bytes = 0
      unchecked = 0
      changes.cleared()
    },
    count: (of) => (of === 'unchecked' ? unchecked : shelfOf(of).requests.length),
    get size() {
      return byId.size
    },
    get bytes() {
      return bytes
    },
    get dropped() {
      return dropped
    },
  }
}

function idOf({ captured }: ExactCallback): string {
  return createHash('sha256').update(captured.bytes).digest('hex')
}
