/** Numbers of records. They grow with time, so inserts append to the primary key, which also finds old records. */
import type { MessageRecord } from '../../messages/record.ts'

const DIGITS = 6
/** With `DIGITS` more digits, this number still fits in eight bytes. */
const MOST_MS = 9_000_000_000_000
let lastDigits = Math.floor(Math.random() * 10 ** DIGITS)

/** The smallest number of records whose first event was admitted at that time. */
export function leastNumberAt(ms: number): string {
  return `${Math.floor(Math.max(0, Math.min(ms, MOST_MS)))}${'0'.repeat(DIGITS)}`
}

/**
 * The number of a new record. If another process chose the same one, the write does not apply, and the next attempt uses
 * another.
 */
export function newNumber({ waiting, send }: MessageRecord): string {
  lastDigits = (lastDigits + 1) % 10 ** DIGITS
  const firstMs = waiting[0]?.admittedAtMs ?? send?.sentAtMs ?? 0
  return leastNumberAt(firstMs).slice(0, -DIGITS) + String(lastDigits).padStart(DIGITS, '0')
}
