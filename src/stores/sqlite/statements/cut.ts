/**
 * A number as far as JavaScript can hold it: read as it is, one that was spoilt would fail the whole statement, and with it all
 * other rows.
 */
export function cut(column: string): string {
  return `max(0, min(${column}, ${Number.MAX_SAFE_INTEGER}))`
}

/** What no event has for a message. */
const NOBODY = -1

/** A rowid likewise; one that no message of ours can have is nobody's. */
export function cutRowid(column: string): string {
  return `CASE WHEN ${column} BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER} THEN ${column} ELSE ${NOBODY} END`
}
