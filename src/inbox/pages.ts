/** Reads lists that answer a page at a time, each with the place where the next one begins. */
import type { Page } from './store.ts'

/** Every page, until one names no next. */
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

/** A full page of a list that a store searches for a while at a time; `mostCalls` bounds how often it is asked. */
export async function filledPage<
  T,
  Q extends { readonly after: string | undefined; readonly limit: number },
  P extends Page<T>,
>(query: Q, ask: (query: Q) => PromiseLike<P & Page<T>>, mostCalls = Infinity): Promise<P> {
  let page = await ask(query)
  let items: readonly T[] = page.items
  for (let calls = 1; calls < mostCalls && page.next !== undefined && items.length < query.limit; calls += 1) {
    page = await ask({ ...query, after: page.next, limit: query.limit - items.length })
    items = [...items, ...page.items]
  }
  return { ...page, items }
}
