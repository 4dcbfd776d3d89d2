/**
 * Bounds the bytes of request bodies being read, over all requests. Small bodies never wait. A large one waits until there is
 * memory for all of it. While bodies wait, those that have memory and send almost nothing are refused.
 */
import type { Clock } from '../runtime/clock.ts'
import { churningMap, removeMember, type ChurningMap } from '../runtime/values.ts'

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
}

/** In order of their addition. Bodies come and go all the time. */
type Readers = ChurningMap<Reader, true>

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
  const partial: Readers = churningMap()
  /** Large bodies with reserved memory. */
  const granted: Readers = churningMap()
  /** Paused large bodies. The newest is served first, because senders give up on those that wait long. */
  const waiting: Reader[] = []

  /** Grants memory for the rest of the body. One body may always read, so that some body finishes. */
  function grant(reader: Reader): boolean {
    const need = reader.expected - reader.held
    if (granted.members.size > 0 && large + need > maxBytes * LARGE_PART) return false
    granted.members.set(reader, true)
    large += need
    reader.grantedAt = ticks
    reader.sent = 0
    return true
  }

  function pause(reader: Reader): void {
    reader.isPaused = true
    reader.wasPaused = true
    waiting.push(reader)
    // Deliver what Node has already read first, so that nothing accumulates uncounted in the stream.
    queueMicrotask(() => {
      if (reader.isPaused) reader.flow.pause()
    })
    watch()
  }

  function serve(): void {
    for (let next = waiting.at(-1); next !== undefined && grant(next); next = waiting.at(-1)) {
      waiting.pop()
      goOn(next)
    }
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
    removeMember(partial, reader)
    if (!grant(reader)) pause(reader)
  }

  function tick(): void {
    const slow: Reader[] = []
    for (const reader of granted.members.keys()) {
      if (reader.grantedAt < ticks && reader.sent < TICK_BYTES) slow.push(reader)
      reader.sent = 0
    }
    ticks += 1
    for (const reader of slow) if (waiting.length > 0) reader.tooSlow()
    isTicking = false
    watch()
  }

  /** A late tick counts once. It runs after pending I/O, so that bytes that have arrived count before a body is judged. */
  function watch(): void {
    if (isTicking || waiting.length === 0) return
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
      if (reader.held > smallBytes) grow(reader)
      else partial.members.set(reader, true)
      for (const oldest of partial.members.keys()) {
        if (small <= maxBytes * SMALL_PART) break
        grow(oldest)
      }
    },
    release(reader: Reader): void {
      if (reader.grantedAt >= 0) {
        removeMember(granted, reader)
        large -= reader.expected
      } else if (reader.isLarge) {
        if (reader.isPaused) waiting.splice(waiting.indexOf(reader), 1)
        large -= reader.held
      } else {
        removeMember(partial, reader)
        small -= reader.held
      }
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
