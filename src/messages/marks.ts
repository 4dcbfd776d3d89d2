/** What stores index of a record, because lists and loops need it. A store looks into no record. */
import { dueMsOf, type MessageRecord } from './record.ts'

const DAY_MS = 86_400_000

/** When something of the message can be leased; never earlier than the record says, so that what is found due can be leased. */
export function dueMark(record: MessageRecord): number | undefined {
  return wholeMs(dueMsOf(record))
}

export function overdueMark({ send }: Pick<MessageRecord, 'send'>): number | undefined {
  return wholeMs(send?.overdueAtMs)
}

/** The day of the last thing known of the message: writes of one day change no index. */
export function lastDay({ waiting, dead, settled, send }: MessageRecord): number {
  let lastMs = Math.max(settled.at(-1)?.endedAtMs ?? 0, send?.sentAtMs ?? 0)
  for (const { admittedAtMs } of waiting) lastMs = Math.max(lastMs, admittedAtMs)
  for (const { diedAtMs } of dead) lastMs = Math.max(lastMs, diedAtMs)
  return Math.max(-MOST_DAYS, Math.min(Math.floor(lastMs / DAY_MS), MOST_DAYS))
}

/** What four bytes can hold, and the days of all times. */
const MOST_DAYS = 100_000_000

/** A whole number that every engine keeps exactly. */
function wholeMs(ms: number | undefined): number | undefined {
  if (ms === undefined) return undefined
  return Math.ceil(Math.max(-Number.MAX_SAFE_INTEGER, Math.min(ms, Number.MAX_SAFE_INTEGER)))
}
