/** The kept requests, in memory and within their budgets. Synchronous. */
import { createHash } from 'node:crypto'
import { createBudget, type Placed } from './budget.ts'
import {
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
  cleared(): void
}

const UNOBSERVED: KeeperChanges = { kept() {}, removed() {}, cleared() {} }
/** Sequence numbers per millisecond. */
const SEQUENCES_A_MS = 1_024

export function memoryKeeper({ maxBytes, maxAgeMs }: KeeperLimits, changes: KeeperChanges = UNOBSERVED) {
  const byId = new Map<string, Placed>()
  const sequences = new Set<number>()
  let lastSequence = 0
  let { budgets, counts } = emptied()
  let dropped = 0
  let droppedCallbacks = 0

  /** `provedButStale`, which outsiders cannot forge, has half of the capacity to itself. */
  function emptied() {
    return {
      budgets: { proved: createBudget(maxBytes / 2), unproved: createBudget(maxBytes / 2) },
      counts: { provedButStale: 0, unverified: 0, looksLikeOurs: 0, rest: 0, unchecked: 0 },
    }
  }

  function budgetOf({ class: name }: KeptRequest) {
    return name === 'provedButStale' ? budgets.proved : budgets.unproved
  }

  function count({ class: name, unchecked }: KeptRequest, by: 1 | -1): void {
    counts[name] += by
    if (unchecked) counts.unchecked += by
  }

  function drop(name: QuarantineClass): void {
    dropped += 1
    if (name !== 'rest') droppedCallbacks += 1
  }

  /** Adds the request to its budget and evicts others. Undefined, with the budget unchanged, if it would itself be evicted. */
  function place(request: KeptRequest, nowMs: number | undefined): Placed | undefined {
    const budget = budgetOf(request)
    const placed = budget.add(request)
    const leaving: KeptRequest[] = []
    while (budget.isExceeded) {
      const next = budget.nextToLeave(placed, nowMs)
      const left = budget.remove(next)
      if (next === placed) {
        for (const each of leaving.reverse()) byId.set(each.id, budget.add(each))
        return undefined
      }
      if (left !== undefined) leaving.push(left)
    }
    for (const each of leaving) {
      forget(each)
      drop(each.class)
    }
    return placed
  }

  function forget(request: KeptRequest): void {
    byId.delete(request.id)
    sequences.delete(request.sequence)
    count(request, -1)
    changes.removed(request)
  }

  function takeOut(placed: Placed): void {
    const { request } = placed
    if (request === undefined) return
    budgetOf(request).remove(placed)
    forget(request)
  }

  /** Replaces the request with the same id. If the new one has no capacity, the old one stays. */
  function put(request: KeptRequest, nowMs?: number): KeptRequest | undefined {
    const old = byId.get(request.id)
    const before = old?.request
    if (old !== undefined && before !== undefined) budgetOf(before).remove(old)
    const placed = place(request, nowMs)
    if (placed === undefined) {
      if (before !== undefined) byId.set(request.id, budgetOf(before).add(before))
      return undefined
    }
    if (before !== undefined) {
      count(before, -1)
      sequences.delete(before.sequence)
    }
    lastSequence = Math.max(lastSequence, request.sequence)
    sequences.add(request.sequence)
    byId.set(request.id, placed)
    count(request, 1)
    const { callback } = request
    placed.request = callback === before?.callback ? request : { ...request, callback: withOwnBytes(callback) }
    return placed.request
  }

  /** Returns a unique sequence number. It derives from the time, so that the order survives restarts. */
  function freeSequence(wanted: number, before?: KeptRequest): number {
    let sequence = Number.isSafeInteger(wanted) ? wanted : lastSequence + 1
    while (sequences.has(sequence) && sequence !== before?.sequence) sequence += 1
    return sequence
  }

  function all(): readonly KeptRequest[] {
    return [...byId.values()].flatMap(({ request }) => request ?? []).sort((a, b) => a.sequence - b.sequence)
  }

  return {
    /** `known` if the same body is already kept in this class or a better one. */
    keep(callback: ExactCallback, standing: Standing): 'kept' | 'known' | 'dropped' {
      const id = idOf(callback)
      const before = byId.get(id)?.request
      if (before !== undefined && !isBetter(standing.class, before.class)) return 'known'
      const wanted = Math.max(lastSequence + 1, Math.floor(callback.arrivedAtMs) * SEQUENCES_A_MS)
      const kept = put({ ...standing, id, sequence: freeSequence(wanted), callback }, callback.arrivedAtMs)
      if (kept !== undefined) {
        changes.kept(kept)
        return 'kept'
      }
      if (before !== undefined) return 'known'
      drop(standing.class)
      return 'dropped'
    },
    /**
     * Restores a request of an earlier process at its place in the order of arrival, without calling `kept`. Undefined if it is
     * too old, already kept, or has no capacity.
     */
    restore(remembered: Omit<KeptRequest, 'id'>, nowMs: number): KeptRequest | undefined {
      const { class: name, sequence, callback } = remembered
      if (nowMs - callback.arrivedAtMs >= maxAgeMs) return undefined
      const id = idOf(callback)
      const before = byId.get(id)?.request
      // For one body, the better class counts, then the earlier arrival, as in `keep`.
      if (before !== undefined && !isBetter(name, before.class)) {
        if (before.class !== name || before.sequence <= sequence) return undefined
      }
      const kept = put({ ...remembered, id, sequence: freeSequence(sequence, before) })
      if (kept === undefined) {
        if (before === undefined) drop(name)
      } else if (before !== undefined) changes.removed(before)
      return kept
    },
    all,
    /** Requests whose credentials could not be looked up, in order of arrival. */
    unchecked: () => all().filter((kept) => kept.unchecked),
    remove(request: KeptRequest): void {
      const kept = byId.get(request.id)
      // The same body may have arrived again with a better proof during verification.
      if (kept?.request?.sequence === request.sequence) takeOut(kept)
    },
    /** Changes the standing of a request. If its new class has no capacity, it stays in the old one. */
    reclass(request: KeptRequest, standing: Standing): void {
      const before = byId.get(request.id)?.request
      if (before?.sequence !== request.sequence) return
      const wanted = { ...before, ...standing }
      const inOldClass = { ...wanted, class: before.class }
      const changed = put(wanted) ?? put(inOldClass)
      if (changed !== undefined) changes.kept(changed)
    },
    /** Removes expired requests. Returns when the next one expires. */
    expire(nowMs: number): number | undefined {
      let oldestMs = Infinity
      for (const placed of byId.values()) {
        const arrivedAtMs = placed.request?.callback.arrivedAtMs ?? Infinity
        if (nowMs - arrivedAtMs >= maxAgeMs) takeOut(placed)
        else oldestMs = Math.min(oldestMs, arrivedAtMs)
      }
      return oldestMs === Infinity ? undefined : oldestMs + maxAgeMs
    },
    clear(): void {
      byId.clear()
      sequences.clear()
      ;({ budgets, counts } = emptied())
      changes.cleared()
    },
    count: (of: QuarantineClass | 'unchecked'): number => counts[of],
    get size(): number {
      return byId.size
    },
    get bytes(): number {
      return budgets.proved.bytes + budgets.unproved.bytes
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

function idOf({ captured }: ExactCallback): string {
  return createHash('sha256').update(captured.bytes).digest('hex')
}
