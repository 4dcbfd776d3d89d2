/** A list of events that is put in order here and not by an index: the newest first, a page at a time, each once. */
import type { Page } from '../inbox/store.ts'

interface Listed {
  readonly id: string
  /** What has no time that is known comes last. */
  readonly atMs: number | undefined
}

/** Of all of them those that follow the place `after`; one more than a page, for there to be a next one. */
export function newestOf<T extends Listed>(all: readonly T[], after: string | undefined, limit: number): readonly T[] {
  const [, time, afterId = ''] = /^(-?\d+)\.(.*)$/s.exec(after ?? '') ?? []
  const atMs = time === undefined ? Infinity : Number(time)
  const following = all.filter((one) => timeOf(one) < atMs || (timeOf(one) === atMs && one.id < afterId))
  const each = [...new Map(following.map((one) => [one.id, one])).values()]
  return each.sort((a, b) => timeOf(b) - timeOf(a) || (a.id > b.id ? -1 : 1)).slice(0, limit + 1)
}

/** The page of what `newestOf` gave. */
export function pageOf<T extends Listed>(newest: readonly T[], limit: number): Page<T> {
  const items = newest.slice(0, limit)
  const last = items.at(-1)
  return newest.length > limit && last !== undefined ? { items, next: `${timeOf(last)}.${last.id}` } : { items }
}

function timeOf({ atMs }: Listed): number {
  return atMs ?? 0
}
