/** Lists of all parts in one, a page at a time. A place in it is a place in the list of each part. */
import type { OpenStore, Page } from '../../inbox/store.ts'
import type { Parts } from './parts.ts'

/** Where the list of a part goes on: after this place of its own, or from its beginning. One that is over is not among them. */
type Places = readonly (readonly [name: string, after: string | undefined])[]

interface PartPage<T> extends Page<T> {
  readonly lookedBackToMs?: number
}

type PageAfter<T, X extends object> = (
  part: OpenStore<X>,
  page: { readonly after: string | undefined; readonly limit: number },
) => Promise<PartPage<T>>

/** The order of a list. */
interface Order<T> {
  readonly isBefore: (one: T, other: T) => boolean
  /** Nothing comes before it that a look has not passed over by then. */
  readonly isPassed: (one: T, lookedBackToMs: number) => boolean
}

function readPlaces(names: readonly string[], after: string | undefined): Places {
  if (after === undefined) return names.map((name) => [name, undefined])
  const given = JSON.parse(after) as Readonly<Record<string, string | null>>
  return names.flatMap((name) => {
    const place = Object.hasOwn(given, name) ? given[name] : undefined
    return place === undefined ? [] : [[name, place ?? undefined] as const]
  })
}

function writePlaces(places: Places): string {
  return JSON.stringify(Object.fromEntries(places.map(([name, after]) => [name, after ?? null])))
}

/**
 * A page of lists that are each in order. What a part has on its page and does not fit on this one, the next one asks for
 * again: so each is there once.
 */
export async function mergedPage<T, X extends object>(
  parts: Parts<X>,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
  pageOf: PageAfter<T, X>,
  { isBefore, isPassed }: Order<T>,
): Promise<PartPage<T>> {
  const places = readPlaces(parts.names, after)
  const lists = await Promise.all(
    places.map(async ([name, from]) => {
      const part = await parts.get(name)
      return { name, part, from, page: await pageOf(part, { after: from, limit }), taken: 0 }
    }),
  )
  const items: T[] = []
  while (items.length < limit) {
    // What follows on its next page may come before what the others have; as far as it has looked, nothing does.
    const over = lists.filter(({ page, taken }) => taken === page.items.length && page.next !== undefined)
    const lookedBackToMs = Math.max(...over.map(({ page }) => page.lookedBackToMs ?? Infinity))
    let best: { readonly item: T; readonly list: (typeof lists)[number] } | undefined
    for (const list of lists) {
      const item = list.page.items[list.taken]
      if (item !== undefined && (best === undefined || isBefore(item, best.item))) best = { item, list }
    }
    if (best === undefined || (over.length > 0 && !isPassed(best.item, lookedBackToMs))) break
    best.list.taken += 1
    items.push(best.item)
  }
  const next = await Promise.all(
    lists.map(async ({ name, part, from, page, taken }): Promise<Places> => {
      if (taken === page.items.length) return page.next === undefined ? [] : [[name, page.next]]
      if (taken === 0) return [[name, from]]
      // Only the part knows where it would go on from there; a look for as many may have to go on.
      let after = from
      for (let missing = taken; missing > 0;) {
        const again = await pageOf(part, { after, limit: missing })
        if (again.next === undefined) return []
        after = again.next
        missing -= again.items.length
      }
      return [[name, after]]
    }),
  )
  const left = next.flat()
  if (left.length === 0) return { items }
  const looks = lists.flatMap(({ page, taken }) => (taken === page.items.length ? (page.lookedBackToMs ?? []) : []))
  const lookedBackToMs = items.length < limit && looks.length > 0 ? Math.max(...looks) : undefined
  return { items, next: writePlaces(left), ...(lookedBackToMs !== undefined && { lookedBackToMs }) }
}

export function createListing<X extends object>(
  parts: Parts<X>,
): Required<Pick<OpenStore<X>, 'deadLetters' | 'events' | 'kept'>> {
  return {
    deadLetters: (page) =>
      mergedPage(parts, page, async (part, one) => part.deadLetters(one), {
        isBefore: (one, other) => one.diedAtMs < other.diedAtMs,
        isPassed: () => false,
      }),
    events: (page) =>
      mergedPage(parts, page, async (part, one) => (await part.events?.({ ...page, ...one })) ?? { items: [] }, {
        isBefore: (one, other) => (one.atMs ?? 0) > (other.atMs ?? 0),
        isPassed: ({ atMs = 0 }, lookedBackToMs) => atMs >= lookedBackToMs,
      }),
    // In no order, so one part after the other.
    async kept({ after, limit }) {
      const [first, ...rest] = readPlaces(parts.names, after)
      if (first === undefined) return { items: [] }
      const [name, from] = first
      const page = await (await parts.get(name)).kept?.({ after: from, limit })
      const left: Places = page?.next === undefined ? rest : [[name, page.next], ...rest]
      const items = page?.items ?? []
      return left.length === 0 ? { items } : { items, next: writePlaces(left) }
    },
  }
}
