/** Reads paged lists. */
import type { StorePage } from './store.ts'

/** All pages, until one has no `next`. */
export async function* everyPage<P extends { readonly next?: string | undefined }>(
  ask: (after: string | undefined) => P | PromiseLike<P>,
): AsyncGenerator<P> {
  let after: string | undefined
  do {
    const page = await ask(after)
    yield page
    after = page.next
  } while (after !== undefined)
}

/** Fills one page from a list that a store searches in bounded steps, with at most `mostCalls` calls. */
export async function filledPage<
  T,
  Q extends { readonly after: string | undefined; readonly limit: number },
  P extends StorePage<T>,
>(query: Q, ask: (query: Q) => PromiseLike<P & StorePage<T>>, mostCalls = Infinity): Promise<P> {
  let page = await ask(query)
  let items: readonly T[] = page.items
  for (let calls = 1; calls < mostCalls && page.next !== undefined && items.length < query.limit; calls += 1) {
    page = await ask({ ...query, after: page.next, limit: query.limit - items.length })
    items = [...items, ...page.items]
  }
  return { ...page, items }
}
