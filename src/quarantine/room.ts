/**
 * The room that the classes share: what fits in, and who must give for it. No class that a stranger can fill leaves a
 * better one without room; a better one takes it from the worst.
 */
import { createPile, sizeFor, type Pile, type Placed } from './pile.ts'
import { QUARANTINE_CLASSES, type KeptRequest, type QuarantineClass } from './request.ts'

interface Room {
  readonly bytes: number
  count(name: QuarantineClass): number
  /** Puts it in its class, room or not. */
  add(request: KeptRequest): Placed
  remove(placed: Placed): KeptRequest | undefined
  /**
   * Puts it in its class and takes out who must give; undefined, with all as it was, where it would have to go itself.
   * `nowMs` is left out where nothing old shall give way to it.
   */
  fitIn(
    request: KeptRequest,
    nowMs?: number,
  ): { readonly placed: Placed; readonly given: readonly KeptRequest[] } | undefined
  clear(): void
}

interface ClassRoom {
  readonly maxBytes: number
  readonly pile: Pile
}

/** How much of all the room a class may fill. */
const SHARES: Readonly<Record<QuarantineClass, number>> = {
  provedButStale: 1 / 2,
  unverified: 1 / 2,
  looksLikeOurs: 1 / 2,
  rest: 1 / 8,
}
/**
 * Of a class's room, what one network and one project name may hold while others need it. Each of the four sizes that
 * callbacks have can have as much: the heaviest of them gives first.
 */
const BOUND = 1 / 4
/** What a request takes beside its bytes and texts: about 900 bytes, measured. */
const BYTES_A_REQUEST = 1_024

/** `movedBack` hears of requests that were taken out for one that did not fit in the end, and stand elsewhere now. */
export function createRoom(maxBytes: number, movedBack: (request: KeptRequest, placed: Placed) => void): Room {
  let classes = newClasses(maxBytes)
  let bytes = 0

  function add(request: KeptRequest): Placed {
    const placed = placedFor(request)
    classes[request.class].pile.add(placed)
    bytes += placed.bytes
    return placed
  }

  function remove(placed: Placed): KeptRequest | undefined {
    const { request } = placed
    if (request === undefined) return undefined
    classes[request.class].pile.remove(placed)
    placed.request = undefined
    bytes -= placed.bytes
    return request
  }

  /** The class that must give: its own where that is over its share, else the worst. Undefined where there is room. */
  function overfull(own: ClassRoom): ClassRoom | undefined {
    if (own.pile.bytes > own.maxBytes) return own
    const worst = bytes > maxBytes ? QUARANTINE_CLASSES.findLast((name) => classes[name].pile.count > 0) : undefined
    return worst && classes[worst]
  }

  return {
    get bytes() {
      return bytes
    },
    count: (name) => classes[name].pile.count,
    add,
    remove,
    fitIn(request, nowMs) {
      const placed = add(request)
      const own = classes[request.class]
      const given: KeptRequest[] = []
      for (let giving = overfull(own); giving !== undefined; giving = overfull(own)) {
        const next = giving.pile.nextToGo(placed, nowMs)
        const gives = next === placed ? undefined : next && remove(next)
        if (gives === undefined) {
          remove(placed)
          for (const each of given.reverse()) movedBack(each, add(each))
          return undefined
        }
        given.push(gives)
      }
      return { placed, given }
    },
    clear() {
      classes = newClasses(maxBytes)
      bytes = 0
    },
  }
}

function newClasses(maxBytes: number): Readonly<Record<QuarantineClass, ClassRoom>> {
  const classRoom = (name: QuarantineClass): ClassRoom => {
    const share = maxBytes * SHARES[name]
    return { maxBytes: share, pile: createPile(share * BOUND) }
  }
  return {
    provedButStale: classRoom('provedButStale'),
    unverified: classRoom('unverified'),
    looksLikeOurs: classRoom('looksLikeOurs'),
    rest: classRoom('rest'),
  }
}

function placedFor(request: KeptRequest): Placed {
  const { callback, project } = request
  const { captured, signatures, contentEncoding, remoteAddress: network } = callback
  const texts = signatures.reduce((sum, value) => sum + value.length, contentEncoding?.length ?? 0)
  const sent = captured.bytes.length + texts
  const bytes = sent + (project?.length ?? 0) + (network?.length ?? 0) + BYTES_A_REQUEST
  return { request, bytes, size: sizeFor(sent), network, project }
}
