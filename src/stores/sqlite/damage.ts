/** What becomes of rows that somebody else has spoilt; see "Damage" in the store contract. */
import { MessagingWebhooksError } from '../../errors.ts'
import { mergeLatest, type MessageLatest } from '../../inbox/latest.ts'
import { readRecord } from '../../inbox/record.ts'
import type { Database } from './database.ts'
import { prepare } from './prepare.ts'
import { blob, integer, text, type Row } from './row.ts'
import { BE_DUE } from './statements/be-due.ts'
import { FIND_ASTRAY } from './statements/find-astray.ts'
import { GREATEST_TOKEN } from './statements/greatest-token.ts'
import { JOIN_MESSAGE } from './statements/join-message.ts'
import { LAST_WAITING } from './statements/last-waiting.ts'
import { REPORTS } from './statements/reports.ts'
import { RESTORE_MESSAGE } from './statements/restore-message.ts'
import { SCHEDULE_FIRST } from './statements/schedule-first.ts'
import { SET_ASIDE } from './statements/set-aside.ts'

/** Ten years: no retry, gap or lease is as long; what is said to be due later was not written by this store. */
export const LONGEST_WAIT_MS = 3_653 * 86_400_000
const MESSAGES_A_STEP = 500
/** The least number that a column can hold. */
const BEFORE_ALL = -(2n ** 63n)

export interface DamageControl {
  /** Makes a dead letter of an event that waits. `row` has its `seq` and `id`, `place` the column. */
  setAside(row: Row, place: string, nowMs: number): void
  /** A token that is greater than each that could still settle something of this message. */
  tokenAfter(message: number): number
  /** The latest state of a message as its events tell it. */
  latestOf(message: number): MessageLatest | undefined
  /** A state was made anew. */
  restored(place: string, key: string): void
  /** Finds, a bounded step at a time, events that no claim would. Says how many. */
  findAstray(nowMs: number): number
}

export function createDamageControl({ db }: Database, report: (error: MessagingWebhooksError) => void): DamageControl {
  const setAside = prepare(db, SET_ASIDE)
  const greatestToken = prepare(db, GREATEST_TOKEN)
  const reports = prepare(db, REPORTS)
  const findAstray = prepare(db, FIND_ASTRAY)
  const lastWaiting = prepare(db, LAST_WAITING)
  const restoreMessage = prepare(db, RESTORE_MESSAGE)
  const beDue = prepare(db, BE_DUE)
  const joinMessage = prepare(db, JOIN_MESSAGE)
  const scheduleFirst = prepare(db, SCHEDULE_FIRST)
  /** How far the walk through what waits has come; it begins anew behind the last one. */
  let after = BEFORE_ALL

  function restored(place: string, key: string): void {
    report(new MessagingWebhooksError('state_damaged', `It is ${place} of ${key}.`))
  }

  return {
    restored,
    setAside(row, place, nowMs) {
      const error = new MessagingWebhooksError('event_damaged', `It is ${place} of event ${text(row, 'id')}.`)
      setAside.run({ seq: integer(row, 'seq'), error: error.message, now: nowMs })
      report(error)
    },
    tokenAfter: (message) => {
      const row = greatestToken.get({ message })
      return (row === undefined ? 0 : integer(row, 'token')) + 1
    },
    latestOf(message) {
      let latest: MessageLatest | undefined
      for (const row of reports.all({ message })) {
        const record = readRecord(blob(row, 'record'))
        if (record !== undefined)
          latest = mergeLatest(latest, { order: text(row, 'ord'), final: integer(row, 'final') === 1, record })
      }
      return latest
    },
    findAstray(nowMs) {
      const step = { after, limit: MESSAGES_A_STEP }
      const latest = nowMs + LONGEST_WAIT_MS
      const found = findAstray.all({ ...step, latest })
      for (const row of found) {
        const seq = integer(row, 'seq')
        beDue.run({ seq, now: nowMs, latest })
        if (integer(row, 'orphaned') === 1) {
          restoreMessage.run({ seq })
          joinMessage.run({ seq })
        }
        scheduleFirst.run({ seq })
        restored('messages.due', `event ${text(row, 'id')}`)
      }
      const last = lastWaiting.get(step)
      const isEnd = last === undefined || integer(last, 'messages') < MESSAGES_A_STEP
      after = isEnd ? BEFORE_ALL : BigInt(text(last, 'last'))
      return found.length
    },
  }
}
