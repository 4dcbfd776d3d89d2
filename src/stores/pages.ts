/** Pages of lists: from an index, or sorted here, newest first and without duplicates. */
import type { Page } from '../inbox/store.ts'

/** A page of a scan. `found` has one item more than the page if there is a next page. */
export function scanned<T extends { readonly place: string }>(found: readonly T[], limit: number): Page<T> {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? items.at(-1)?.place : undefined }
}

/** A page of rows, without those of which `read` makes nothing. */
export function scannedRows<Row, T>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => string,
  read: (row: Row, place: string) => T | undefined,
): Page<T> {
  const { items, next } = scanned(
    rows.map((row) => ({ row, place: placeOf(row) })),
    limit,
  )
  return { items: items.flatMap(({ row, place }) => read(row, place) ?? []), next }
}

interface Listed {
  readonly id: string
  readonly atMs: number
}

export function byNewest(a: Listed, b: Listed): number {
  return b.atMs - a.atMs || (a.id > b.id ? -1 : 1)
}

export function writtenPlace({ atMs, id }: Listed): string {
  return `${atMs}.${id}`
}

/** Reads what `writtenPlace` wrote. The first page follows a place before all items. */
export function placeIn(after: string | undefined): Listed {
  const [, time, id = ''] = /^(-?\d+)\.(.*)$/s.exec(after ?? '') ?? []
  return { atMs: time === undefined ? Infinity : Number(time), id }
}

export function isAfter(place: Listed, { atMs, id }: Listed): boolean {
  return atMs < place.atMs || (atMs === place.atMs && id < place.id)
}

/** The items after the place `after`, one more than a page. */
export function newestOf<T extends Listed>(all: readonly T[], after: string | undefined, limit: number): readonly T[] {
  const place = placeIn(after)
  const following = all.filter((one) => isAfter(place, one))
  return [...new Map(following.map((one) => [one.id, one])).values()].sort(byNewest).slice(0, limit + 1)
}
