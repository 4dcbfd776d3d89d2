/**
 * A budget of bytes that requests share, with the eviction order. A request never displaces a smaller one, and no network or
 * project name takes much from the others. No operation scans all requests.
 */
import type { KeptRequest } from './request.ts'

export interface Placed {
  /** Undefined after removal; lists skip it. */
  request: KeptRequest | undefined
  readonly bytes: number
  /**
   * Size class: 0 for the smallest, and each next one up to twice as large. Unprovable requests rank above every other size.
   */
  readonly size: number
  readonly network: string | undefined
  readonly project: string | undefined
}

/** Properties that forgeries share with each other but not with the service. */
const TRAITS = ['network', 'project'] as const
type Trait = (typeof TRAITS)[number]

interface Pile {
  readonly bytes: number
  add(placed: Placed): void
  /** Call before clearing `request`. */
  remove(placed: Placed): void
  /** Undefined if no request has this size. */
  listOf(size: number): List | undefined
  largestSize(): number
  /** The small size class that holds the most bytes. */
  heaviestSmallList(): List | undefined
  /** The heaviest value of the first trait, then within it of the next, if they exceed the bound; otherwise this pile. */
  heaviestPart(): Pile
  each(visit: (placed: Placed) => void): void
}

/** One size class, in insertion order. Removed requests stay until they are half of the list. */
interface List {
  placed: Placed[]
  live: number
  bytes: number
  /** All requests between the middle and this index have been removed. */
  turned: number
}

/** Up to 512 bytes, 1, 2 and 4 KiB: every documented callback fits one of these. */
const SMALL_SIZES = 4
const SMALLEST_BITS = 9
/** Larger than any size class. */
const UNPROVABLE_SIZE = 32
/** The share of a budget that one network, or one project name, keeps while others need space. */
const BOUND = 1 / 4
/** The newer half of a list keeps its place for at least this long. */
const TURN_MS = 600_000
/** Overhead of a request beyond its bytes and texts; about 900 bytes, measured. */
const BYTES_A_REQUEST = 1_024
const FEW = 32

export function createBudget(maxBytes: number) {
  const pile = createPile(maxBytes * BOUND, TRAITS)
  return {
    get bytes(): number {
      return pile.bytes
    },
    get isExceeded(): boolean {
      return pile.bytes > maxBytes
    },
    /** Adds the request, even beyond the budget. */
    add(request: KeptRequest): Placed {
      const placed = placedFor(request)
      pile.add(placed)
      return placed
    },
    remove(placed: Placed): KeptRequest | undefined {
      const { request } = placed
      if (request !== undefined) pile.remove(placed)
      placed.request = undefined
      return request
    },
    /**
     * The request to evict next: the newest, which may be `newcomer`. Instead of `newcomer`, returns an older one that has kept
     * its place for `TURN_MS`. Without `nowMs`, none has.
     */
    nextToLeave(newcomer: Placed, nowMs = -Infinity): Placed {
      const largest = pile.largestSize()
      const part = pile.heaviestPart()
      const list = largest < SMALL_SIZES ? part.heaviestSmallList() : (part.listOf(largest) ?? pile.listOf(largest))
      const newest = list && newestOf(list)
      if (list === undefined || newest === undefined) return newcomer
      return newest === newcomer ? (turningOf(list, nowMs) ?? newcomer) : newest
    },
  }
}

function placedFor(request: KeptRequest): Placed {
  const { callback, project } = request
  const { captured, signatures, contentEncoding, remoteAddress: network } = callback
  const texts = signatures.reduce((sum, value) => sum + value.length, contentEncoding?.length ?? 0)
  const sent = captured.bytes.length + texts
  const bytes = sent + (project?.length ?? 0) + (network?.length ?? 0) + BYTES_A_REQUEST
  const size = Math.max(0, 32 - Math.clz32(Math.max(1, sent) - 1) - SMALLEST_BITS)
  return { request, bytes, size: request.class === 'rest' ? UNPROVABLE_SIZE + size : size, network, project }
}

/** `boundBytes`: the share that one network, or one project name, keeps while others need space. */
function createPile(boundBytes: number, traits: readonly Trait[]): Pile {
  const lists: (List | undefined)[] = []
  let bytes = 0
  const pile: Pile = {
    get bytes() {
      return bytes
    },
    add(placed) {
      const list = (lists[placed.size] ??= { placed: [], live: 0, bytes: 0, turned: 0 })
      list.placed.push(placed)
      list.live += 1
      list.bytes += placed.bytes
      bytes += placed.bytes
      for (const part of parts) part.add(placed, pile)
    },
    remove(placed) {
      const list = lists[placed.size]
      if (list === undefined) return
      list.live -= 1
      list.bytes -= placed.bytes
      bytes -= placed.bytes
      if (list.placed.at(-1) === placed) list.placed.pop()
      if (list.placed.length > 2 * list.live + FEW) {
        list.placed = list.placed.filter((each) => each !== placed && each.request !== undefined)
        list.turned = 0
      }
      for (const part of parts) part.remove(placed)
    },
    listOf: (size) => ((lists[size]?.live ?? 0) > 0 ? lists[size] : undefined),
    largestSize: () => lists.findLastIndex((list) => list !== undefined && list.live > 0),
    heaviestSmallList() {
      let heaviest: List | undefined
      for (const list of lists.slice(0, SMALL_SIZES))
        if (list !== undefined && list.live > 0 && list.bytes >= (heaviest?.bytes ?? 0)) heaviest = list
      return heaviest
    },
    heaviestPart() {
      for (const part of parts) {
        const heaviest = part.heaviest()
        if (heaviest !== undefined) return heaviest.heaviestPart()
      }
      return pile
    },
    each(visit) {
      for (const list of lists) for (const placed of list?.placed ?? []) if (placed.request !== undefined) visit(placed)
    },
  }
  const parts = traits.map((trait, nth) => createParts(trait, traits.slice(nth + 1), boundBytes))
  return pile
}

/** Bytes per value of a trait. Only values above their bound have a pile of their own. */
function createParts(trait: Trait, otherTraits: readonly Trait[], boundBytes: number) {
  const bytesOf = new Map<string | undefined, number>()
  const heavy = new Map<string | undefined, Pile>()

  return {
    add(placed: Placed, whole: Pile): void {
      const value = placed[trait]
      const bytes = (bytesOf.get(value) ?? 0) + placed.bytes
      bytesOf.set(value, bytes)
      const known = heavy.get(value)
      if (known !== undefined) known.add(placed)
      if (known !== undefined || bytes <= boundBytes) return
      const pile = createPile(boundBytes, otherTraits)
      whole.each((each) => {
        if (each[trait] === value) pile.add(each)
      })
      heavy.set(value, pile)
    },
    remove(placed: Placed): void {
      const value = placed[trait]
      const bytes = (bytesOf.get(value) ?? 0) - placed.bytes
      if (bytes > 0) bytesOf.set(value, bytes)
      else bytesOf.delete(value)
      // The limit is far below the bound, so that one removal and one addition do not rebuild the pile each time.
      if (bytes < boundBytes / 2) heavy.delete(value)
      else heavy.get(value)?.remove(placed)
    },
    heaviest(): Pile | undefined {
      let heaviest: Pile | undefined
      for (const pile of heavy.values())
        if (pile.bytes > boundBytes && pile.bytes > (heaviest?.bytes ?? 0)) heaviest = pile
      return heaviest
    },
  }
}

function newestOf(list: List): Placed | undefined {
  while (list.placed.length > 0 && list.placed.at(-1)?.request === undefined) list.placed.pop()
  list.turned = Math.min(list.turned, list.placed.length)
  return list.placed.at(-1)
}

/** The first of the newer half, once it has kept its place for `TURN_MS`. Otherwise one flood would exclude all later requests. */
function turningOf(list: List, nowMs: number): Placed | undefined {
  list.turned = Math.max(list.turned, list.placed.length >> 1)
  while (list.turned < list.placed.length && list.placed[list.turned]?.request === undefined) list.turned += 1
  const turning = list.placed[list.turned]
  const arrivedAtMs = turning?.request?.callback.arrivedAtMs ?? Infinity
  return nowMs - arrivedAtMs >= TURN_MS ? turning : undefined
}
