/**
 * Where kept requests stand: in memory, within bounds, the most precious longest. Nothing here waits, and nothing else of
 * the quarantine knows how a request is kept.
 */
import { createHash } from 'node:crypto'
import {
  QUARANTINE_CLASSES,
  type ExactCallback,
  type KeptRequest,
  type QuarantineClass,
  type Standing,
} from './request.ts'

interface KeeperLimits {
  /** Of bodies, headers and what it takes to keep them. */
  readonly maxBytes: number
  readonly maxAgeMs: number
}

export interface Keeper {
  /** `known` where the same body is kept already, in this class or a better one. */
  keep(callback: ExactCallback, standing: Standing): 'kept' | 'known' | 'dropped'
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

/**
 * How much of all the room a class may fill. No class that a stranger can fill leaves a better one without room; a better
 * one takes it from the worst, newest first, so that what came before a flood stays.
 */
const SHARES: Readonly<Record<QuarantineClass, number>> = {
  provedButStale: 1 / 2,
  unverified: 1 / 2,
  looksLikeOurs: 1 / 2,
  rest: 1 / 8,
}
/** What a request takes beside its bytes and texts: about 900 bytes, measured. */
const BYTES_A_REQUEST = 1_024

interface Shelf {
  readonly maxBytes: number
  bytes: number
  /** By sequence. */
  readonly requests: KeptRequest[]
}

export function memoryKeeper({ maxBytes, maxAgeMs }: KeeperLimits): Keeper {
  const shelves = new Map<QuarantineClass, Shelf>()
  const byId = new Map<string, KeptRequest>()
  let bytes = 0
  let sequences = 0
  let unchecked = 0
  let dropped = 0

  function shelfOf(name: QuarantineClass): Shelf {
    let shelf = shelves.get(name)
    if (shelf === undefined) {
      shelf = { maxBytes: maxBytes * SHARES[name], bytes: 0, requests: [] }
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
        remove(newest)
        dropped += 1
      }
    }
    return true
  }

  function place(request: KeptRequest): void {
    const size = sizeOf(request.callback)
    const shelf = shelfOf(request.class)
    shelf.requests.splice(placeOf(shelf.requests, request.sequence), 0, request)
    shelf.bytes += size
    bytes += size
    if (request.unchecked) unchecked += 1
    byId.set(request.id, request)
  }

  function remove(request: KeptRequest): void {
    const kept = byId.get(request.id)
    // The same body may have come again with a better proof while this one was being looked at.
    if (kept?.sequence !== request.sequence) return
    byId.delete(kept.id)
    const shelf = shelfOf(kept.class)
    shelf.requests.splice(placeOf(shelf.requests, kept.sequence), 1)
    const size = sizeOf(kept.callback)
    shelf.bytes -= size
    bytes -= size
    if (kept.unchecked) unchecked -= 1
  }

  return {
    keep(callback, standing) {
      const id = createHash('sha256').update(callback.captured.bytes).digest('hex')
      const known = byId.get(id)
      if (known !== undefined) {
        if (QUARANTINE_CLASSES.indexOf(known.class) <= QUARANTINE_CLASSES.indexOf(standing.class)) return 'known'
        remove(known)
      }
      if (makeRoom(standing.class, sizeOf(callback))) {
        sequences += 1
        place({ ...standing, id, sequence: sequences, callback: withOwnBytes(callback) })
        return 'kept'
      }
      if (known !== undefined) {
        place(known)
        return 'known'
      }
      dropped += 1
      return 'dropped'
    },
    all: () => [...byId.values()].sort((a, b) => a.sequence - b.sequence),
    unchecked: () => [...byId.values()].filter((kept) => kept.unchecked).sort((a, b) => a.sequence - b.sequence),
    remove,
    reclass(request, standing) {
      if (byId.get(request.id)?.sequence !== request.sequence) return
      remove(request)
      const hasRoom = makeRoom(standing.class, sizeOf(request.callback))
      place({ ...request, ...standing, class: hasRoom ? standing.class : request.class })
    },
    expire(nowMs) {
      let oldestMs = Infinity
      for (const { requests } of shelves.values()) {
        let [oldest] = requests
        while (oldest !== undefined && nowMs - oldest.callback.arrivedAtMs >= maxAgeMs) {
          remove(oldest)
          oldest = requests[0]
        }
        oldestMs = Math.min(oldestMs, oldest?.callback.arrivedAtMs ?? Infinity)
      }
      return oldestMs === Infinity ? undefined : oldestMs + maxAgeMs
    },
    clear() {
      shelves.clear()
      byId.clear()
      bytes = 0
      unchecked = 0
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

/** Small buffers are slices of larger ones, which would all be kept with them. */
function withOwnBytes(callback: ExactCallback): ExactCallback {
  const { bytes } = callback.captured
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return { ...callback, captured: { ...callback.captured, bytes: own } }
}

function sizeOf({ captured, signatures, contentEncoding }: ExactCallback): number {
  const texts = signatures.reduce((sum, value) => sum + value.length, contentEncoding?.length ?? 0)
  return captured.bytes.length + texts + BYTES_A_REQUEST
}

/** The index of this sequence, or where it would stand. */
function placeOf(requests: readonly KeptRequest[], sequence: number): number {
  let low = 0
  let high = requests.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((requests[middle]?.sequence ?? Infinity) < sequence) low = middle + 1
    else high = middle
  }
  return low
}
