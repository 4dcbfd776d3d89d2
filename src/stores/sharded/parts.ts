/** The parts of the store as its verbs ask them: all at once, each by itself. */
import type { Awaitable, OpenStore, PartsHost } from '../../inbox/store.ts'

export interface Parts<X extends object> {
  /** In the order of their names, which no process has otherwise. */
  readonly names: readonly string[]
  /** What is open now. */
  readonly open: ReadonlyMap<string, OpenStore<X>>
  get(name: string): Promise<OpenStore<X>>
  /** Asks each; rejects where one does, once all have answered. */
  each<T>(ask: (part: OpenStore<X>, name: string) => Awaitable<T>, names?: readonly string[]): Promise<readonly T[]>
  /** Asks each, and rejects only where none has answered. */
  some<T>(ask: (part: OpenStore<X>, name: string) => Awaitable<T>): Promise<readonly T[]>
}

export function createParts<X extends object>(given: readonly string[], host: Pick<PartsHost<X>, 'open'>): Parts<X> {
  const names = given.toSorted()
  const open = new Map<string, OpenStore<X>>()

  async function get(name: string): Promise<OpenStore<X>> {
    const found = open.get(name) ?? (await host.open(name))
    open.set(name, found)
    return found
  }

  function ask<T>(
    asked: readonly string[],
    work: (part: OpenStore<X>, name: string) => Awaitable<T>,
  ): Promise<readonly PromiseSettledResult<T>[]> {
    return Promise.allSettled(asked.map(async (name) => work(await get(name), name)))
  }

  return {
    names,
    open,
    get,
    async each(work, asked = names) {
      return (await ask(asked, work)).map(valueOf)
    },
    async some(work) {
      const results = await ask(names, work)
      const answered = results.filter((result) => result.status === 'fulfilled')
      return (answered.length === 0 ? results : answered).map(valueOf)
    },
  }
}

/** Throws what it was rejected with. */
export function valueOf<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason
  return result.value
}

/** Items by the part that each belongs to, each with its place in the list. */
export function groupedBy<T>(
  items: readonly T[],
  nameOf: (item: T, index: number) => string,
): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>()
  for (const [index, item] of items.entries()) {
    const name = nameOf(item, index)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [index])
    else group.push(index)
  }
  return groups
}
