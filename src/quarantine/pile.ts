/**
 * Kept requests by size, and who must give when there is no room: nothing larger takes from what is smaller, and no
 * network, and no project name, takes much from the others. Nothing here looks at all of them for each that comes.
 */
import type { KeptRequest } from './request.ts'

/** One that stands in a pile, and in the heavy parts of it. */
export interface Placed {
  /** Undefined once it is gone; where it still stands in a list then, it is passed over. */
  request: KeptRequest | undefined
  readonly bytes: number
  /** 0 for the smallest; each next holds what is up to twice as large. */
  readonly size: number
  readonly network: string | undefined
  readonly project: string | undefined
}

/** What strangers may have in common with each other and not with the service: where they are, and what they name. */
const TRAITS = ['network', 'project'] as const
type Trait = (typeof TRAITS)[number]

export interface Pile {
  readonly bytes: number
  readonly count: number
  add(placed: Placed): void
  /** To be marked as gone then. */
  remove(placed: Placed): void
  /**
   * Which must give, of all that stand here and with `come`, the newest, if that is one of them. Undefined in an empty pile.
   * `nowMs` is left out where nothing old shall give way to it.
   */
  nextToGo(come?: Placed, nowMs?: number): Placed | undefined
  /** The list of a size; the heaviest small one where none is named. */
  listOf(size: number | undefined): List | undefined
  /** Its heaviest part, and that one's heaviest, where one holds more than its bound; else itself. */
  heaviestPart(): Pile
  each(visit: (placed: Placed) => void): void
}

/** Of one size, in the order in which they came here. Those that are gone stay until they are half of it. */
interface List {
  placed: Placed[]
  live: number
  bytes: number
  /** From its second half on, what stands before this is gone. */
  turned: number
}

/** Up to 512 bytes, to 1, 2 and 4 KiB: every callback that the service documents is one of these. */
const SMALL_SIZES = 4
const SMALLEST_BITS = 9
/** As long as this the newer half of what is kept stays in any case, before it gives way to what comes. */
const TURN_MS = 600_000
const FEW = 32

/** The size of a request of so many bytes. */
export function sizeFor(bytes: number): number {
  return Math.max(0, 32 - Math.clz32(Math.max(1, bytes) - 1) - SMALLEST_BITS)
}

/** `boundBytes` is what one network, or one project name, may hold while others need the room. */
export function createPile(boundBytes: number, traits: readonly Trait[] = TRAITS): Pile {
  const lists: (List | undefined)[] = []
  let bytes = 0
  let count = 0
  const pile: Pile = {
    get bytes() {
      return bytes
    },
    get count() {
      return count
    },
    add(placed) {
      const list = (lists[placed.size] ??= { placed: [], live: 0, bytes: 0, turned: 0 })
      list.placed.push(placed)
      list.live += 1
      list.bytes += placed.bytes
      bytes += placed.bytes
      count += 1
      for (const part of parts) part.add(placed, pile)
    },
    remove(placed) {
      const list = lists[placed.size]
      if (list === undefined) return
      list.live -= 1
      list.bytes -= placed.bytes
      bytes -= placed.bytes
      count -= 1
      if (list.placed.at(-1) === placed) list.placed.pop()
      if (list.placed.length > 2 * list.live + FEW) {
        list.placed = list.placed.filter((each) => each !== placed && each.request !== undefined)
        list.turned = 0
      }
      for (const part of parts) part.remove(placed)
    },
    nextToGo(come, nowMs = -Infinity) {
      // What is larger than any callback goes first, the largest before all, whoever sent it.
      const large = lists.findLastIndex((list, size) => size >= SMALL_SIZES && list !== undefined && list.live > 0)
      const size = large === -1 ? undefined : large
      const heaviest = pile.heaviestPart()
      const list = heaviest.listOf(size) ?? pile.listOf(size)
      const newest = list && newestOf(list)
      if (list === undefined || newest === undefined || newest !== come) return newest
      return turningOf(list, nowMs) ?? come
    },
    listOf(size) {
      if (size !== undefined) return (lists[size]?.live ?? 0) > 0 ? lists[size] : undefined
      let heaviest: List | undefined
      for (let small = 0; small < SMALL_SIZES; small += 1) {
        const list = lists[small]
        if (list !== undefined && list.live > 0 && list.bytes >= (heaviest?.bytes ?? 0)) heaviest = list
      }
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
  const parts = traits.map((trait, nth) =>
    createParts(trait, boundBytes, () => createPile(boundBytes, traits.slice(nth + 1))),
  )
  return pile
}

/** What each value of a trait holds. Only the few that hold more than their bound have a pile of their own. */
function createParts(trait: Trait, boundBytes: number, newPile: () => Pile) {
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
      const pile = newPile()
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
      // Far below the bound, so that a pile is not made again each time that one goes and another comes.
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
  let newest = list.placed.at(-1)
  while (newest !== undefined && newest.request === undefined) {
    list.placed.pop()
    newest = list.placed.at(-1)
  }
  list.turned = Math.min(list.turned, list.placed.length)
  return newest
}

/** The first of the newer half, where it has been here long enough: else one flood would shut all others out for good. */
function turningOf(list: List, nowMs: number): Placed | undefined {
  list.turned = Math.max(list.turned, list.placed.length >> 1)
  while (list.turned < list.placed.length && list.placed[list.turned]?.request === undefined) list.turned += 1
  const turning = list.placed[list.turned]
  const arrivedAtMs = turning?.request?.callback.arrivedAtMs ?? Infinity
  return nowMs - arrivedAtMs >= TURN_MS ? turning : undefined
}
