/**
 * A bound on the bytes of bodies that are being read, over all requests. Small bodies never wait. Near the bound, large ones
 * wait for their turn; when that is not enough, those go that hold room and send next to nothing for it.
 */
import type { Clock } from '../runtime/clock.ts'

/** Where the bytes of a body come from. */
export interface Flow {
  /** Nothing more is to come for now, as far as that can be said. */
  pause(): void
  resume(): void
}

export interface Inflight {
  /** `tooSlow` is called when this one has to go; it calls `release`, as everybody does when the bytes are gone. */
  enter(flow: Flow, announced: number | undefined, tooSlow: () => void): Reader
  /** Counts what a request has delivered, and perhaps lets it wait. */
  add(reader: Reader, bytes: number): void
  release(reader: Reader): void
  /** A body of more bytes may have to wait; small ones never do. */
  readonly smallBytes: number
  /** For how long it had to wait since this was last asked, in whole ticks. */
  waitedMs(reader: Reader): number
}

export interface Reader {
  readonly flow: Flow
  readonly tooSlow: () => void
  /** What it comes to at most. */
  readonly expected: number
  isLarge: boolean
  held: number
  /** Since the last tick. */
  sent: number
  /** Ticks in which it could have sent and did not, less those that it has made up for. */
  lost: number
  /** True until it could send for a whole tick: nobody can say yet that it is slow. */
  isFresh: boolean
  /** The rest of its body is promised room, so it is not paused any more. */
  isGranted: boolean
  isPaused: boolean
  /** The tick in which it was last paused or set going. */
  since: number
  waitedTicks: number
  list: List | undefined
  before: Reader | undefined
  after: Reader | undefined
}

/** A body that is no larger never waits; less where the bound is very small. */
const SMALL_BYTES = 16 * 1024
const SMALL_SHARE = 1 / 1024
/** Parts of the bound: of small bodies; and of large ones where everybody may read, who was slow, and who was not. */
const SMALL_PART = 1 / 8
const FREE_PART = 1 / 2
const TRIED_PART = 3 / 4
const FRESH_PART = 7 / 8

const TICK_MS = 100
/** 32 KiB a second. In a tick that brings less, a body loses time. */
const TICK_BYTES = (32 * 1024 * TICK_MS) / 1_000
/** Who has lost so many ticks, a second, goes when room is short. */
const PATIENCE_TICKS = 10

export function createInflight({
  maxBytes,
  maxBodyBytes,
  clock,
}: {
  readonly maxBytes: number
  readonly maxBodyBytes: number
  readonly clock: Clock
}): Inflight {
  const smallBytes = Math.min(SMALL_BYTES, maxBytes * SMALL_SHARE)
  /** Bytes of small bodies and of large ones, and what large ones were promised beyond. */
  let small = 0
  let large = 0
  let promised = 0
  let grants = 0
  let ticks = 0
  let isTicking = false
  /** Small ones that hold something, the oldest first. */
  const partial: List = { first: undefined, last: undefined }
  /** Large ones that are not paused. */
  const reading: List = { first: undefined, last: undefined }
  /** Large ones that are: first the fresh, the newest of them first, for whoever waits long is given up by its sender. */
  const waiting: List = { first: undefined, last: undefined }

  function room(reader: Reader): number {
    return maxBytes * (reader.isFresh ? FRESH_PART : TRIED_PART) - large - needOf(reader)
  }

  /** One may always read, so that somebody finishes. */
  function mayGoOn(reader: Reader): boolean {
    return grants === 0 || room(reader) >= promised
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
    // What Node has read already comes first, so that nothing gathers in the stream, where nobody counts or joins it.
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

  /** From here on it is judged like a large one. */
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
    return large > maxBytes * FRESH_PART || (waiting.first !== undefined && room(waiting.first) < 0)
  }

  function tick(): void {
    const slow: Reader[] = []
    for (let reader = reading.first; reader !== undefined; reader = reader.after) {
      if (reader.since === ticks) continue
      judge(reader)
      if (reader.lost >= PATIENCE_TICKS && reader.held > 0) slow.push(reader)
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

  /** A tick that comes late counts once. What arrived meanwhile is read before anybody is judged. */
  function watch(): void {
    if (isTicking || (large <= maxBytes * FREE_PART && waiting.first === undefined)) return
    isTicking = true
    clock.setTimer(() => clock.soon(tick), TICK_MS)
  }

  return {
    smallBytes,
    enter(flow, announced, tooSlow) {
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
    add(reader, bytes) {
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
        // Who trickles is not paused, for its time would stand still then.
        else if (reader.sent >= TICK_BYTES) pause(reader)
      }
      watch()
    },
    release(reader) {
      if (reader.list === undefined && reader.held === 0) return
      unlink(reader)
      if (reader.isGranted) revoke(reader)
      if (reader.isLarge) large -= reader.held
      else small -= reader.held
      reader.held = 0
      if (reader.isPaused) goOn(reader)
      serve()
    },
    waitedMs(reader) {
      if (reader.isPaused) {
        reader.waitedTicks += ticks - reader.since + 1
        reader.since = ticks
      }
      const waitedTicks = reader.waitedTicks
      reader.waitedTicks = 0
      return waitedTicks * TICK_MS
    },
  }
}

function needOf(reader: Reader): number {
  return reader.expected - reader.held
}

/**
 * Linked by hand. Where members of a Set come and go all the time, V8 makes a table after the other, and an old one keeps the
 * next, and the streams in it, until the whole heap is collected.
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
