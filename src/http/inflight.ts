/**
 * Bounds the bytes of request bodies being read, over all requests. Small bodies never wait. A large one waits until there is
 * memory for all of it. While bodies wait, those that have memory and send almost nothing are refused.
 */
import type { Clock } from '../runtime/clock.ts'

/** The source of a body. */
export interface Flow {
  /** Stops the source, as far as it can be stopped. */
  pause(): void
  resume(): void
}

export type Inflight = ReturnType<typeof createInflight>

export interface Reader {
  readonly flow: Flow
  readonly tooSlow: () => void
  /** The maximum size of the body. */
  readonly expected: number
  isLarge: boolean
  held: number
  /** Bytes received since the last tick. */
  sent: number
  isPaused: boolean
  /** It has been paused since the last call of `hasWaited`. */
  wasPaused: boolean
  /** The tick in which memory for all of its body was reserved. -1 before. */
  grantedAt: number
  list: List | undefined
  before: Reader | undefined
  after: Reader | undefined
}

/** Bodies up to this size never wait. Less if the bound is very small. */
const SMALL_BYTES = 16 * 1024
const SMALL_SHARE = 1 / 1024
/** The fractions of the bound for small and for large bodies. */
const SMALL_PART = 1 / 8
const LARGE_PART = 1 - SMALL_PART

const TICK_MS = 1_000
/** A body that brings less in a tick is refused if others wait. */
const TICK_BYTES = 32 * 1024

export function createInflight({
  maxBytes,
  maxBodyBytes,
  clock,
}: {
  readonly maxBytes: number
  readonly maxBodyBytes: number
  readonly clock: Clock
}) {
  const smallBytes = Math.min(SMALL_BYTES, maxBytes * SMALL_SHARE)
  /** Bytes of small bodies. */
  let small = 0
  /** Bytes of large bodies, and the bytes that reserved ones still need. */
  let large = 0
  let ticks = 0
  let isTicking = false
  /** Small bodies that hold bytes, oldest first. */
  const partial: List = { first: undefined, last: undefined }
  /** Large bodies with reserved memory. */
  const granted: List = { first: undefined, last: undefined }
  /** Paused large bodies. The newest is served first, because senders give up on those that wait long. */
  const waiting: List = { first: undefined, last: undefined }

  /** Grants memory for the rest of the body. One body may always read, so that some body finishes. */
  function grant(reader: Reader): boolean {
    const need = reader.expected - reader.held
    if (granted.first !== undefined && large + need > maxBytes * LARGE_PART) return false
    unlink(reader)
    append(granted, reader)
    large += need
    reader.grantedAt = ticks
    reader.sent = 0
    return true
  }

  function pause(reader: Reader): void {
    reader.isPaused = true
    reader.wasPaused = true
    unlink(reader)
    append(waiting, reader)
    // Deliver what Node has already read first, so that nothing accumulates uncounted in the stream.
    queueMicrotask(() => {
      if (reader.isPaused) reader.flow.pause()
    })
    watch()
  }

  function serve(): void {
    for (let next = waiting.last; next !== undefined && grant(next); next = waiting.last) goOn(next)
  }

  function goOn(reader: Reader): void {
    reader.isPaused = false
    reader.flow.resume()
  }

  /** Treats the body as large from now on. */
  function grow(reader: Reader): void {
    reader.isLarge = true
    small -= reader.held
    large += reader.held
    unlink(reader)
    if (!grant(reader)) pause(reader)
  }

  function tick(): void {
    const slow: Reader[] = []
    for (let reader = granted.first; reader !== undefined; reader = reader.after) {
      if (reader.grantedAt < ticks && reader.sent < TICK_BYTES) slow.push(reader)
      reader.sent = 0
    }
    ticks += 1
    for (const reader of slow) if (waiting.first !== undefined) reader.tooSlow()
    isTicking = false
    watch()
  }

  /** A late tick counts once. It runs after pending I/O, so that bytes that have arrived count before a body is judged. */
  function watch(): void {
    if (isTicking || waiting.first === undefined) return
    isTicking = true
    clock.setTimer(() => clock.soon(tick), TICK_MS)
  }

  return {
    /** Bodies above this size may have to wait. */
    smallBytes,
    /** Calls `tooSlow` if this body is refused. The caller calls `release` then, and whenever the bytes are freed. */
    enter(flow: Flow, announced: number | undefined, tooSlow: () => void): Reader {
      return {
        flow,
        tooSlow,
        expected: announced ?? maxBodyBytes,
        isLarge: announced !== undefined && announced > smallBytes,
        held: 0,
        sent: 0,
        isPaused: false,
        wasPaused: false,
        grantedAt: -1,
        list: undefined,
        before: undefined,
        after: undefined,
      }
    },
    /** Counts received bytes. May pause the source. */
    add(reader: Reader, bytes: number): void {
      reader.held += bytes
      reader.sent += bytes
      if (reader.grantedAt >= 0) return
      if (reader.isLarge) {
        large += bytes
        if (!reader.isPaused && !grant(reader)) pause(reader)
        return
      }
      small += bytes
      if (reader.list === undefined) append(partial, reader)
      if (reader.held > smallBytes) grow(reader)
      while (small > maxBytes * SMALL_PART && partial.first !== undefined) grow(partial.first)
    },
    release(reader: Reader): void {
      if (reader.list === undefined && reader.held === 0) return
      unlink(reader)
      if (reader.grantedAt >= 0) large -= reader.expected
      else if (reader.isLarge) large -= reader.held
      else small -= reader.held
      reader.held = 0
      reader.grantedAt = -1
      if (reader.isPaused) goOn(reader)
      serve()
    },
    /** Whether the body has been paused since the last call. */
    hasWaited(reader: Reader): boolean {
      const { wasPaused } = reader
      reader.wasPaused = reader.isPaused
      return wasPaused
    },
  }
}

/**
 * A linked list instead of a Set: under frequent insertions and deletions, V8 keeps replacing the table of a Set, and the old
 * tables keep the streams alive until a full collection.
 */
interface List {
  first: Reader | undefined
  last: Reader | undefined
}

function append(list: List, reader: Reader): void {
  reader.list = list
  reader.before = list.last
  if (list.last === undefined) list.first = reader
  else list.last.after = reader
  list.last = reader
}

function unlink(reader: Reader): void {
  const { list, before, after } = reader
  if (list === undefined) return
  if (before === undefined) list.first = after
  else before.after = after
  if (after === undefined) list.last = before
  else after.before = before
  reader.list = undefined
  reader.before = undefined
  reader.after = undefined
}
