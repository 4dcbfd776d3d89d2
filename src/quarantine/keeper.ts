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

/** Sequence numbers per millisecond. */
const SEQUENCES_A_MS = 1_024

export function memoryKeeper({ maxBytes, maxAgeMs }: KeeperLimits) {
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
        takeOut(each)
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
      return kept === undefined ? 'dropped' : 'kept'
    },
    all,
    /** The requests that were kept first. */
    first({ limit, maxBytes: most }: { readonly limit: number; readonly maxBytes: number }): readonly KeptRequest[] {
      const found: KeptRequest[] = []
      let left = most
      for (const request of byId.values()) {
        if (found.length >= limit || left <= 0) break
        left -= request.callback.captured.bytes.length
        found.push(request)
      }
      return found
    },
    /** Requests whose credentials could not be looked up, in order of arrival. */
    unchecked: () => all().filter((kept) => kept.unchecked),
    /** False if it is not here. */
    remove(request: KeptRequest): boolean {
      const kept = byId.get(request.id)
      // The same body may have arrived again with a better proof during verification.
      if (kept?.sequence !== request.sequence) return false
      takeOut(kept)
      return true
    },
    /** Changes the standing of a request. False if it is not here. */
    reclass(request: KeptRequest, standing: Standing): boolean {
      const before = byId.get(request.id)
      if (before?.sequence !== request.sequence) return false
      put({ ...before, ...standing })
      return true
    },
    /** Removes expired requests. Returns when the next one expires. */
    expire(nowMs: number): number | undefined {
      let oldestMs = Infinity
      for (const request of byId.values()) {
        const { arrivedAtMs } = request.callback
        if (nowMs - arrivedAtMs >= maxAgeMs) takeOut(request)
        else oldestMs = Math.min(oldestMs, arrivedAtMs)
      }
      return oldestMs === Infinity ? undefined : oldestMs + maxAgeMs
    },
    clear(): void {
      for (const request of byId.values()) takeOut(request)
    },
    count: (of: QuarantineClass | 'unchecked'): number => counts[of],
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
