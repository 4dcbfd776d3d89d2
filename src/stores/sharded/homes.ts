/**
 * Where a message stands. While there is one generation, the hash says it. While there are several, it stands where one of the
 * others knows it, and else where the first one puts it: so nothing moves that is known, and what is new goes to the new place.
 */
import { LRUCache } from 'lru-cache'
import { systemClock, withDeadline } from '../../clock.ts'
import type { Awaitable, PartsHost } from '../../inbox/store.ts'
import { ownerAmong } from './rendezvous.ts'

/** A part that says nothing for so long is away, as far as this question goes: somebody waits for an answer. */
const LOOK_MS = 1_000
/** Messages of which the home is remembered, of those that generations do not agree about. */
const HOMES_KEPT = 50_000

interface Homes {
  /** The owners of each generation, each once, the first generation's first. */
  ownersOf(messageKey: string): readonly string[]
  homeOf(messageKey: string): Awaitable<string>
  /** The parts in which it may stand, the likeliest first. */
  placesOf(messageKey: string): readonly string[]
  /** It was met there. */
  met(messageKey: string, name: string): void
}

export function createHomes<X extends object>(
  generations: readonly (readonly string[])[],
  host: Pick<PartsHost<X>, 'open' | 'isBehind'>,
): Homes {
  const owners = generations.map(ownerAmong)
  const [newest = (): string => ''] = owners
  const homes = new LRUCache<string, string>({ max: HOMES_KEPT })
  const clock = systemClock()

  function ownersOf(messageKey: string): readonly string[] {
    if (owners.length === 1) return [newest(messageKey)]
    return [...new Set(owners.map((ownerOf) => ownerOf(messageKey)))]
  }

  /** Undefined where it cannot say. */
  async function knows(name: string, messageKey: string): Promise<boolean | undefined> {
    async function ask(): Promise<boolean | undefined> {
      const part = await host.open(name)
      let page = await part.events?.({ after: undefined, limit: 1, messageKey })
      // A store may look for them a while at a time.
      while (page?.items.length === 0 && page.next !== undefined)
        page = await part.events?.({ after: page.next, limit: 1, messageKey })
      if (page === undefined || page.items.length > 0) return page && true
      // Of one that was sent there need be no event.
      const sent = await part.expectations?.({ after: undefined, limit: 1, fromMs: 0, toMs: 0, messageKey })
      return sent !== undefined && sent.items.length > 0
    }
    return withDeadline(clock, LOOK_MS, ask(), () => undefined).catch(() => undefined)
  }

  async function look(messageKey: string, first: string, others: readonly string[]): Promise<string> {
    // What waits to get into a part is known to it later.
    const answers = await Promise.all(
      others.map(async (name) => (host.isBehind(name) ? undefined : knows(name, messageKey))),
    )
    const silent = others.find((_, index) => answers[index] === undefined)
    const known = others.find((_, index) => answers[index] === true)
    const home = known ?? (silent === undefined || (await knows(first, messageKey)) === true ? first : silent)
    // Another one of it may have been sent somewhere meanwhile.
    const sent = homes.get(messageKey) ?? home
    homes.set(messageKey, sent)
    return sent
  }

  return {
    ownersOf,
    homeOf(messageKey) {
      if (owners.length === 1) return newest(messageKey)
      const [first = '', ...others] = ownersOf(messageKey)
      if (others.length === 0) return first
      return homes.get(messageKey) ?? look(messageKey, first, others)
    },
    placesOf(messageKey) {
      const all = ownersOf(messageKey)
      const home = all.length === 1 ? undefined : homes.get(messageKey)
      return home === undefined ? all : [home, ...all.filter((name) => name !== home)]
    },
    met(messageKey, name) {
      if (owners.length > 1 && ownersOf(messageKey).length > 1) homes.set(messageKey, name)
    },
  }
}
