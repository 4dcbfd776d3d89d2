/** The server's clock, which decides what is due unless the clocks of the callers apply. */
import { ClockJump } from '../../inbox/record-store.ts'
import type { StoreClock } from '../../inbox/runtime/store-time.ts'
import type { Row, RowReader } from './rows.ts'

/** Tolerance between the server's clock and a process's estimate of it. */
export const MOST_APART_MS = 2_000

/** Takes the server's time from a row with `now`. Throws a `ClockJump` if it differs from the caller's estimate `nowMs`. */
export type NoteTime = (row: Row | undefined, nowMs: number | undefined, sentMs: number) => void

/** `clock`: undefined if the clocks of the callers apply. */
export function createNoteTime(clock: StoreClock | undefined, { integer }: Pick<RowReader, 'integer'>): NoteTime {
  return (row, nowMs, sentMs) => {
    if (clock === undefined || row === undefined) return
    const storeMs = integer(row, 'now')
    clock.note(storeMs, sentMs)
    if (nowMs !== undefined && Math.abs(storeMs - Math.round(nowMs)) > MOST_APART_MS) throw new ClockJump()
  }
}
