/** Numbers of records: they grow with time, so that keys are appended, and what is old is found by the primary key. */
import type { MessageRecord } from '../../messages/record.ts'

const DIGITS = 6
/** With the digits it is a number of eight bytes. */
const MOST_MS = 9_000_000_000_000
let lastDigits = Math.floor(Math.random() * 10 ** DIGITS)

/** The least number of records whose first event was admitted then. */
export function leastNumberAt(ms: number): string {
  return `${Math.floor(Math.max(0, Math.min(ms, MOST_MS)))}${'0'.repeat(DIGITS)}`
}

/** Of a new record. Where another process took the same one, the write does not apply, and the next attempt has another. */
export function newNumber({ waiting, send }: MessageRecord): string {
  lastDigits = (lastDigits + 1) % 10 ** DIGITS
  const firstMs = waiting[0]?.admittedAtMs ?? send?.sentAtMs ?? 0
  return leastNumberAt(firstMs).slice(0, -DIGITS) + String(lastDigits).padStart(DIGITS, '0')
}
