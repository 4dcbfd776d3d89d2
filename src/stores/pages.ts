/** Pages of lists: from an index, or sorted here, newest first and without duplicates. */
import type { Scanned } from '../inbox/record-store.ts'

/** A page of a scan. `found` has one item more than the page if there is a next page. */
export function scanned<T extends { readonly place: string }>(found: readonly T[], limit: number): Scanned<T> {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? items.at(-1)?.place : undefined }
}

/** A page of rows. It leaves out rows that cannot be read. */
export function scannedRows<Row, T>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => string,
  read: (row: Row, place: string) => T | undefined,
): Scanned<T> {
  const { items, next } = scanned(
    rows.map((row) => ({ row, place: placeOf(row) })),
    limit,
  )
  return { items: items.flatMap(({ row, place }) => read(row, place) ?? []), next }
}

interface Listed {
  readonly id: string
  /** Items without a known time come last. */
  readonly atMs: number | undefined
}

/** The items after the place `after`, one more than a page. */
export function newestOf<T extends Listed>(all: readonly T[], after: string | undefined, limit: number): readonly T[] {
  const [, time, afterId = ''] = /^(-?\d+)\.(.*)$/s.exec(after ?? '') ?? []
  const atMs = time === undefined ? Infinity : Number(time)
  const following = all.filter((one) => timeOf(one) < atMs || (timeOf(one) === atMs && one.id < afterId))
  const each = [...new Map(following.map((one) => [one.id, one])).values()]
  return each.sort((a, b) => timeOf(b) - timeOf(a) || (a.id > b.id ? -1 : 1)).slice(0, limit + 1)
}

export function writtenPlace(one: Listed): string {
  return `${timeOf(one)}.${one.id}`
}

function timeOf({ atMs }: Listed): number {
  return atMs ?? 0
}
