/** The kept requests, in memory and within their budgets. Synchronous. */
import { createHash } from 'node:crypto'
import {
  bytesOf,
  excessOf,
  isLikelyReal,
  QUARANTINE_CLASSES,
  type ExactCallback,
  type KeptRequest,
  type QuarantineClass,
  type Standing,
} from './request.ts'

interface KeeperLimits {
  /** Includes bodies, headers and overhead. */
  readonly maxBytes: number
  readonly maxAgeMs: number
}

/** Called synchronously for each change, for the request log. */
export interface KeeperChanges {
  /** Called when a request was added or its standing changed. The last call for an id counts. */
  kept(request: KeptRequest): void
  removed(request: KeptRequest): void
}

const UNOBSERVED: KeeperChanges = { kept() {}, removed() {} }
/** Sequence numbers per millisecond. */
const SEQUENCES_A_MS = 1_024

export function memoryKeeper({ maxBytes, maxAgeMs }: KeeperLimits, changes: KeeperChanges = UNOBSERVED) {
  const byId = new Map<string, KeptRequest>()
  const sequences = new Set<number>()
  const counts = { provedButStale: 0, unverified: 0, looksLikeOurs: 0, rest: 0, unchecked: 0 }
  /** `provedButStale`, which outsiders cannot forge, has half of the capacity to itself. */
  const bytes = { proved: 0, unproved: 0 }
  let lastSequence = 0
  let dropped = 0
  let droppedCallbacks = 0

  function count(request: KeptRequest, by: 1 | -1): void {
    counts[request.class] += by
    if (request.unchecked) counts.unchecked += by
    bytes[halfOf(request)] += by * bytesOf(request)
  }

  function insert(request: KeptRequest): void {
    lastSequence = Math.max(lastSequence, request.sequence)
    sequences.add(request.sequence)
    byId.set(request.id, request)
    count(request, 1)
  }

  function takeOut(request: KeptRequest): void {
    byId.delete(request.id)
    sequences.delete(request.sequence)
    count(request, -1)
  }

  function remove(request: KeptRequest): void {
    takeOut(request)
    changes.removed(request)
  }

  /** Replaces the request with the same id, and evicts others. Undefined if it was itself evicted. */
  function put(request: KeptRequest): KeptRequest | undefined {
    const before = byId.get(request.id)
    if (before !== undefined) takeOut(before)
    const { callback } = request
    insert(callback === before?.callback ? request : { ...request, callback: withOwnBytes(callback) })
    const half = halfOf(request)
    if (bytes[half] > maxBytes / 2) {
      const sharing = all().filter((each) => halfOf(each) === half)
      for (const each of excessOf(sharing, maxBytes / 2)) {
        remove(each)
        dropped += 1
        if (isLikelyReal(each)) droppedCallbacks += 1
      }
    }
    return byId.get(request.id)
  }

  /** Returns a unique sequence number. It derives from the time, so that the order survives restarts. */
  function freeSequence(wanted: number): number {
    let sequence = Number.isSafeInteger(wanted) ? wanted : lastSequence + 1
    while (sequences.has(sequence)) sequence += 1
    return sequence
  }

  function all(): readonly KeptRequest[] {
    return [...byId.values()].sort((a, b) => a.sequence - b.sequence)
  }

  return {
    /** `known` if the same body is already kept in this class or a better one. */
    keep(callback: ExactCallback, standing: Standing): 'kept' | 'known' | 'dropped' {
      const id = idOf(callback)
      const before = byId.get(id)
      if (before !== undefined && !isBetter(standing.class, before.class)) return 'known'
      const wanted = Math.max(lastSequence + 1, Math.floor(callback.arrivedAtMs) * SEQUENCES_A_MS)
      const kept = put({ ...standing, id, sequence: freeSequence(wanted), callback })
      if (kept === undefined) return 'dropped'
      changes.kept(kept)
      return 'kept'
    },
    /**
     * Restores a request of an earlier process at its place in the order of arrival, without calling `kept`. Undefined if it is
     * too old, already kept, or has no capacity.
     */
    restore(remembered: Omit<KeptRequest, 'id'>, nowMs: number): KeptRequest | undefined {
      const { class: name, sequence, callback } = remembered
      if (nowMs - callback.arrivedAtMs >= maxAgeMs) return undefined
      const id = idOf(callback)
      const before = byId.get(id)
      // For one body, the better class counts, then the earlier arrival, as in `keep`.
      if (before !== undefined && !isBetter(name, before.class)) {
        if (before.class !== name || before.sequence <= sequence) return undefined
      }
      if (before !== undefined) remove(before)
      return put({ ...remembered, id, sequence: freeSequence(sequence) })
    },
    all,
    /** Requests whose credentials could not be looked up, in order of arrival. */
    unchecked: () => all().filter((kept) => kept.unchecked),
    remove(request: KeptRequest): void {
      const kept = byId.get(request.id)
      // The same body may have arrived again with a better proof during verification.
      if (kept?.sequence === request.sequence) remove(kept)
    },
    /** Changes the standing of a request. */
    reclass(request: KeptRequest, standing: Standing): void {
      const before = byId.get(request.id)
      if (before?.sequence !== request.sequence) return
      const changed = put({ ...before, ...standing })
      if (changed !== undefined) changes.kept(changed)
    },
    /** Removes expired requests. Returns when the next one expires. */
    expire(nowMs: number): number | undefined {
      let oldestMs = Infinity
      for (const request of byId.values()) {
        const { arrivedAtMs } = request.callback
        if (nowMs - arrivedAtMs >= maxAgeMs) remove(request)
        else oldestMs = Math.min(oldestMs, arrivedAtMs)
      }
      return oldestMs === Infinity ? undefined : oldestMs + maxAgeMs
    },
    clear(): void {
      for (const request of byId.values()) remove(request)
    },
    count: (of: QuarantineClass | 'unchecked'): number => counts[of],
    /** Kept requests of a class other than `rest`. */
    get likelyReal(): number {
      return byId.size - counts.rest
    },
    get size(): number {
      return byId.size
    },
    get bytes(): number {
      return bytes.proved + bytes.unproved
    },
    /** Requests that were not kept, or were evicted, because the capacity was exhausted. */
    get dropped(): number {
      return dropped
    },
    /** Dropped requests of a class other than `rest`. */
    get droppedCallbacks(): number {
      return droppedCallbacks
    },
  }
}

function halfOf({ class: name }: KeptRequest): 'proved' | 'unproved' {
  return name === 'provedButStale' ? 'proved' : 'unproved'
}

function isBetter(name: QuarantineClass, than: QuarantineClass): boolean {
  return QUARANTINE_CLASSES.indexOf(name) < QUARANTINE_CLASSES.indexOf(than)
}

/** A small buffer is a slice of a larger one, and would retain all of it. */
function withOwnBytes(callback: ExactCallback): ExactCallback {
  const { bytes } = callback.captured
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return { ...callback, captured: { ...callback.captured, bytes: own } }
}

/** SHA-256 of the body. The same body is kept once. */
export function idOf({ captured }: ExactCallback): string {
  return createHash('sha256').update(captured.bytes).digest('hex')
}
