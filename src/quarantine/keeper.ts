/**
 * Where kept requests stand: in memory, within bounds, the most precious longest. Nothing here waits, and nothing else of
 * the quarantine knows how a request is kept. What is not kept in the end has displaced nothing.
 */
import { createHash } from 'node:crypto'
import type { Placed } from './pile.ts'
import {
  QUARANTINE_CLASSES,
  type ExactCallback,
  type KeptRequest,
  type QuarantineClass,
  type Standing,
} from './request.ts'
import { createRoom } from './room.ts'

interface KeeperLimits {
  /** Of bodies, headers and what it takes to keep them. */
  readonly maxBytes: number
  readonly maxAgeMs: number
}

/** What changes in it, told at once, so that it can be written down. */
export interface KeeperChanges {
  /** It is kept, or more is known of it; of one id the last call counts. */
  kept(request: KeptRequest): void
  removed(request: KeptRequest): void
  cleared(): void
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
  /** More is known of it now. Where its new class has no room for it, it keeps its place in the old one. */
  reclass(request: KeptRequest, standing: Standing): void
  /** Forgets what is too old; says when something will be next. */
  expire(nowMs: number): number | undefined
  clear(): void
  count(of: QuarantineClass | 'unchecked'): number
  readonly size: number
  readonly bytes: number
  /** How many were not kept, or had to go, for want of room. */
  readonly dropped: number
  /** Those of them that were not of the class `rest`. */
  readonly droppedCallbacks: number
}

/** For a memory that nobody writes down. */
const UNTOLD: KeeperChanges = { kept() {}, removed() {}, cleared() {} }
/** Places in the order of arrival that one millisecond has. */
const SEQUENCES_A_MS = 1_024

export function memoryKeeper({ maxBytes, maxAgeMs }: KeeperLimits, changes: KeeperChanges = UNTOLD): Keeper {
  const room = createRoom(maxBytes, ({ id }, placed) => void byId.set(id, placed))
  /** In order of arrival, while `isInOrder`. */
  let byId = new Map<string, Placed>()
  let isInOrder = true
  const sequences = new Set<number>()
  let lastSequence = 0
  let unchecked = 0
  let dropped = 0
  let droppedCallbacks = 0

  /** Undefined where there is no room for it; who must give for it goes. */
  function fitIn(request: KeptRequest, nowMs?: number): Placed | undefined {
    const fitted = room.fitIn(request, nowMs)
    for (const each of fitted?.given ?? []) {
      forget(each)
      drop(each.class)
      changes.removed(each)
    }
    return fitted?.placed
  }

  function drop(name: QuarantineClass): void {
    dropped += 1
    if (name !== 'rest') droppedCallbacks += 1
  }

  function remember(request: KeptRequest, placed: Placed): void {
    placed.request = request
    if (request.sequence < lastSequence) isInOrder = false
    lastSequence = Math.max(lastSequence, request.sequence)
    byId.set(request.id, placed)
    sequences.add(request.sequence)
    if (request.unchecked) unchecked += 1
  }

  function forget(request: KeptRequest): void {
    byId.delete(request.id)
    sequences.delete(request.sequence)
    if (request.unchecked) unchecked -= 1
  }

  function takeOut(placed: Placed): void {
    const request = room.remove(placed)
    if (request === undefined) return
    forget(request)
    changes.removed(request)
  }

  /** Grows with the time, so that the order outlives the process. No two requests have the same. */
  function freeSequence(wanted: number): number {
    let sequence = Number.isSafeInteger(wanted) ? wanted : lastSequence + 1
    while (sequences.has(sequence)) sequence += 1
    return sequence
  }

  function inOrder(): Iterable<Placed> {
    if (!isInOrder) byId = new Map([...byId].sort(([, a], [, b]) => sequenceOf(a) - sequenceOf(b)))
    isInOrder = true
    return byId.values()
  }

  function all(): KeptRequest[] {
    return [...inOrder()].flatMap(({ request }) => request ?? [])
  }

  return {
    keep(callback, standing) {
      const id = idOf(callback)
      const known = byId.get(id)
      const before = known?.request
      if (before !== undefined && !isBetter(standing.class, before.class)) return 'known'
      if (known !== undefined) room.remove(known)
      const wanted = Math.max(lastSequence + 1, Math.floor(callback.arrivedAtMs) * SEQUENCES_A_MS)
      const request = { ...standing, id, sequence: freeSequence(wanted), callback }
      const placed = fitIn(request, callback.arrivedAtMs)
      if (placed !== undefined) {
        if (before !== undefined) forget(before)
        const kept = { ...request, callback: withOwnBytes(callback) }
        remember(kept, placed)
        changes.kept(kept)
        return 'kept'
      }
      if (before !== undefined) {
        byId.set(id, room.add(before))
        return 'known'
      }
      drop(standing.class)
      return 'dropped'
    },
    restore(remembered, nowMs) {
      const { class: name, sequence, callback } = remembered
      if (nowMs - callback.arrivedAtMs >= maxAgeMs) return undefined
      const id = idOf(callback)
      const known = byId.get(id)
      if (known?.request !== undefined) {
        // Of the same body, the better class counts, and then what came first, as in `keep`.
        const { request } = known
        if (!isBetter(name, request.class) && (request.class !== name || request.sequence <= sequence)) return undefined
        takeOut(known)
      }
      const request = { ...remembered, id, sequence: freeSequence(sequence), callback: withOwnBytes(callback) }
      const placed = fitIn(request)
      if (placed === undefined) {
        drop(name)
        return undefined
      }
      remember(request, placed)
      return request
    },
    all,
    unchecked: () => all().filter((kept) => kept.unchecked),
    remove(request) {
      const kept = byId.get(request.id)
      // The same body may have come again with a better proof while this one was being looked at.
      if (kept?.request?.sequence === request.sequence) takeOut(kept)
    },
    reclass(request, standing) {
      const kept = byId.get(request.id)
      if (kept?.request?.sequence !== request.sequence) return
      const before = room.remove(kept) ?? request
      const wanted = { ...before, ...standing }
      const inOldPlace = { ...wanted, class: before.class }
      const placed = fitIn(wanted) ?? room.add(inOldPlace)
      if (before.unchecked !== wanted.unchecked) unchecked += wanted.unchecked ? 1 : -1
      byId.set(request.id, placed)
      changes.kept(placed.request ?? inOldPlace)
    },
    expire(nowMs) {
      for (const placed of inOrder()) {
        const arrivedAtMs = placed.request?.callback.arrivedAtMs ?? nowMs
        if (nowMs - arrivedAtMs < maxAgeMs) return arrivedAtMs + maxAgeMs
        takeOut(placed)
      }
      return undefined
    },
    clear() {
      room.clear()
      byId.clear()
      isInOrder = true
      sequences.clear()
      unchecked = 0
      changes.cleared()
    },
    count: (of) => (of === 'unchecked' ? unchecked : room.count(of)),
    get size() {
      return byId.size
    },
    get bytes() {
      return room.bytes
    },
    get dropped() {
      return dropped
    },
    get droppedCallbacks() {
      return droppedCallbacks
    },
  }
}

function sequenceOf({ request }: Placed): number {
  return request?.sequence ?? 0
}

function isBetter(name: QuarantineClass, than: QuarantineClass): boolean {
  return QUARANTINE_CLASSES.indexOf(name) < QUARANTINE_CLASSES.indexOf(than)
}

/** Small buffers are slices of larger ones, which would all be kept with them. */
function withOwnBytes(callback: ExactCallback): ExactCallback {
  const { bytes } = callback.captured
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return { ...callback, captured: { ...callback.captured, bytes: own } }
}

function idOf({ captured }: ExactCallback): string {
  return createHash('sha256').update(captured.bytes).digest('hex')
}
