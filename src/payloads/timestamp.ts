/** The `timestamp` of a payload: Unix seconds. Contract, "SMS delivery callback" and "Delivery rules". */
import type { Oddity } from '../events.ts'

/** 2000-01-01. Nothing of this service is older, and a wild value must not decide the order of a message for ever. */
const EARLIEST_SECONDS = 946_684_800
const LATEST_AHEAD_SECONDS = 86_400

interface ReadTimestamp {
  /** Present where it can be trusted for order. */
  readonly seconds?: number
  readonly oddity?: Oddity
}

/** Takes whole seconds as a number or as decimal digits. What is out of range is kept in the payload, and not used. */
export function readTimestamp(value: unknown, nowMs: number): ReadTimestamp {
  if (value === undefined) return {}
  const seconds = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof seconds !== 'number' || !Number.isInteger(seconds)) return { oddity: 'timestamp_unreadable' }
  const nowSeconds = nowMs / 1_000
  if (isUsable(seconds, nowSeconds)) return { seconds }
  return { oddity: isUsable(seconds / 1_000, nowSeconds) ? 'timestamp_in_milliseconds' : 'timestamp_out_of_range' }
}

function isUsable(seconds: number, nowSeconds: number): boolean {
  return seconds >= EARLIEST_SECONDS && seconds <= nowSeconds + LATEST_AHEAD_SECONDS
}
