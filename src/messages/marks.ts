/** The values that stores index for each record. A store does not read the record itself. */
import { isPendingSend } from './expected.ts'
import { dueMsOf, type MessageRecord } from './record.ts'

const DAY_MS = 86_400_000

/** When the message can be leased next. Rounded up, so that a message that a store finds due can be leased. */
export function dueMark(record: MessageRecord): number | undefined {
  return wholeMs(dueMsOf(record))
}

export function overdueMark({ send }: Pick<MessageRecord, 'send'>): number | undefined {
  return wholeMs(send?.overdueAtMs)
}

/** Since when a send has been pending, in store time; undefined if the record has no pending send. */
export function pendingMark({ send }: Pick<MessageRecord, 'send'>): number | undefined {
  if (send?.overdueAtMs === undefined || !isPendingSend(send.expectation)) return undefined
  const { sentAtMs, overdueAtMs = sentAtMs } = send.expectation
  // Both times are of the clock of the sending process, so only their difference is valid in store time.
  return wholeMs(send.overdueAtMs - (overdueAtMs - sentAtMs))
}

/** The day of the last change. Writes of one day leave the index unchanged. */
export function lastDay({ waiting, dead, settled, send, overflowedAtMs = 0 }: MessageRecord): number {
  let lastMs = Math.max(settled.at(-1)?.endedAtMs ?? 0, send?.sentAtMs ?? 0, overflowedAtMs)
  for (const { admittedAtMs } of waiting) lastMs = Math.max(lastMs, admittedAtMs)
  for (const { diedAtMs } of dead) lastMs = Math.max(lastMs, diedAtMs)
  return Math.max(-MOST_DAYS, Math.min(Math.floor(lastMs / DAY_MS), MOST_DAYS))
}

/** The last day of a `Date`. It fits in four bytes. */
const MOST_DAYS = 100_000_000

/** A whole number that every engine stores exactly. */
function wholeMs(ms: number | undefined): number | undefined {
  if (ms === undefined) return undefined
  return Math.ceil(Math.max(-Number.MAX_SAFE_INTEGER, Math.min(ms, Number.MAX_SAFE_INTEGER)))
}
