/**
 * Bounds the bytes of request bodies being read, over all requests. Small bodies never wait. Near the bound, large ones take
 * turns; if that is not enough, those that hold memory but send almost nothing are refused.
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
  /** Ticks in which it was too slow, minus those it has made up for. */
  lost: number
  /** True until a full tick has passed: too early to judge its speed. */
  isFresh: boolean
  /** Memory for the rest of its body is reserved, so it is not paused again. */
  isGranted: boolean
  isPaused: boolean
  /** The tick in which it was last paused or resumed. */
  since: number
  waitedTicks: number
  list: List | undefined
  before: Reader | undefined
  after: Reader | undefined
}

/** Bodies up to this size never wait. Less if the bound is very small. */
const SMALL_BYTES = 16 * 1024
const SMALL_SHARE = 1 / 1024
/**
 * Fractions of the bound. SMALL: for small bodies. FREE: below it, large bodies read freely. TRIED and FRESH: limits for bodies
 * that have been slow and for new ones.
 */
const SMALL_PART = 1 / 8
const FREE_PART = 1 / 2
const TRIED_PART = 3 / 4
const FRESH_PART = 7 / 8

const TICK_MS = 100
/** 32 KiB a second. A body that brings less in a tick loses that tick. */
const TICK_BYTES = (32 * 1024 * TICK_MS) / 1_000
/** Lost ticks (one second) after which a body is refused if memory is short. */
const LOST_TICKS_ALLOWED = 10

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
  /** Bytes of small and of large bodies, and the bytes reserved for large ones. */
  let small = 0
  let large = 0
  let promised = 0
  let grants = 0
  let ticks = 0
  let isTicking = false
  /** Small bodies that hold bytes, oldest first. */
  const partial: List = { first: undefined, last: undefined }
  /** Large bodies that are not paused. */
  const reading: List = { first: undefined, last: undefined }
  /** Paused large bodies. New ones come first, the newest first of all, because senders give up on those that wait long. */
  const waiting: List = { first: undefined, last: undefined }

  function remaining(reader: Reader): number {
    return maxBytes * (reader.isFresh ? FRESH_PART : TRIED_PART) - large - needOf(reader)
  }

  /** One body may always read, so that some body finishes. */
  function mayGoOn(reader: Reader): boolean {
    return grants === 0 || remaining(reader) >= promised
  }

  function grant(reader: Reader): void {
    reader.isGranted = true
    grants += 1
    promised += needOf(reader)
  }

  function revoke(reader: Reader): void {
    reader.isGranted = false
    grants -= 1
    promised -= needOf(reader)
  }

  function pause(reader: Reader): void {
    reader.isPaused = true
    reader.since = ticks
    unlink(reader)
    if (reader.isFresh) prepend(waiting, reader)
    else append(waiting, reader)
    // Deliver what Node has already read first, so that nothing accumulates uncounted in the stream.
    queueMicrotask(() => {
      if (reader.isPaused) reader.flow.pause()
    })
  }

  function goOn(reader: Reader): void {
    reader.isPaused = false
    reader.waitedTicks += ticks - reader.since + 1
    reader.since = ticks
    reader.flow.resume()
  }

  function serve(): void {
    for (let next = waiting.first; next !== undefined && mayGoOn(next); next = waiting.first) {
      unlink(next)
      append(reading, next)
      grant(next)
      goOn(next)
    }
  }

  /** Treats the body as large from now on. */
  function grow(reader: Reader): void {
    reader.isLarge = true
    small -= reader.held
    large += reader.held
    reader.since = ticks
    unlink(reader)
    append(reading, reader)
  }

  function judge(reader: Reader): void {
    reader.isFresh = false
    if (reader.sent < TICK_BYTES) {
      reader.lost += 1
      if (reader.isGranted) revoke(reader)
    } else reader.lost = Math.max(0, reader.lost - reader.sent / TICK_BYTES)
    reader.sent = 0
  }

  function isShort(): boolean {
    return large > maxBytes * FRESH_PART || (waiting.first !== undefined && remaining(waiting.first) < 0)
  }

  function tick(): void {
    const slow: Reader[] = []
    for (let reader = reading.first; reader !== undefined; reader = reader.after) {
      if (reader.since === ticks) continue
      judge(reader)
      if (reader.lost >= LOST_TICKS_ALLOWED && reader.held > 0) slow.push(reader)
    }
    ticks += 1
    serve()
    if (isShort()) {
      slow.sort((one, other) => other.lost * other.held - one.lost * one.held)
      for (const reader of slow) if (isShort()) reader.tooSlow()
    }
    isTicking = false
    watch()
  }

  /** A late tick counts once. It runs after pending I/O, so that bytes that have arrived count before a body is judged. */
  function watch(): void {
    if (isTicking || (large <= maxBytes * FREE_PART && waiting.first === undefined)) return
    isTicking = true
    clock.setTimer(() => clock.soon(tick), TICK_MS)
  }

  return {
    /** Bodies above this size may have to wait. */
    smallBytes,
    /** Calls `tooSlow` if this body is refused. The caller calls `release` then, and whenever the bytes are freed. */
    enter(flow: Flow, announced: number | undefined, tooSlow: () => void): Reader {
      const isLarge = announced !== undefined && announced > smallBytes
      const reader: Reader = {
        flow,
        tooSlow,
        expected: announced ?? maxBodyBytes,
        isLarge,
        held: 0,
        sent: 0,
        lost: 0,
        isFresh: true,
        isGranted: false,
        isPaused: false,
        since: ticks,
        waitedTicks: 0,
        list: undefined,
        before: undefined,
        after: undefined,
      }
      if (isLarge) append(reading, reader)
      return reader
    },
    /** Counts received bytes. May pause the source. */
    add(reader: Reader, bytes: number): void {
      reader.held += bytes
      reader.sent += bytes
      if (reader.isLarge) large += bytes
      else {
        small += bytes
        if (reader.list === undefined) append(partial, reader)
        if (reader.held > smallBytes) grow(reader)
        while (small > maxBytes * SMALL_PART && partial.first !== undefined) grow(partial.first)
        if (reader.list === partial) return
      }
      if (reader.isGranted) promised -= bytes
      else if (!reader.isPaused && large > maxBytes * FREE_PART && needOf(reader) > 0) {
        if (mayGoOn(reader)) grant(reader)
        // Do not pause a slow body: its lost ticks would stop counting.
        else if (reader.sent >= TICK_BYTES) pause(reader)
      }
      watch()
    },
    release(reader: Reader): void {
      if (reader.list === undefined && reader.held === 0) return
      unlink(reader)
      if (reader.isGranted) revoke(reader)
      if (reader.isLarge) large -= reader.held
      else small -= reader.held
      reader.held = 0
      if (reader.isPaused) goOn(reader)
      serve()
    },
    /** How long the body has been paused since the last call, in whole ticks. */
    waitedMs(reader: Reader): number {
      if (reader.isPaused) {
        reader.waitedTicks += ticks - reader.since + 1
        reader.since = ticks
      }
      const { waitedTicks } = reader
      reader.waitedTicks = 0
      return waitedTicks * TICK_MS
    },
  }
}

function needOf(reader: Reader): number {
  return reader.expected - reader.held
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

function prepend(list: List, reader: Reader): void {
  reader.list = list
  reader.after = list.first
  if (list.first === undefined) list.last = reader
  else list.first.before = reader
  list.first = reader
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
