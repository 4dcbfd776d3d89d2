/** What is asked of the file and changes nothing in it. */
import type { Page, StoreCounts, StoredDeadLetter, StoredLatest } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { decodeRecord, digestBytes } from './encoding.ts'
import { readMessage } from './message-row.ts'
import { prepare } from './prepare.ts'
import { bytes, integer, text, type Row } from './row.ts'
import { COUNTS } from './statements/counts.ts'
import { DEAD_LETTERS } from './statements/dead-letters.ts'
import { FIND_MESSAGE } from './statements/find-message.ts'

interface Reading {
  latest(messageKey: string): StoredLatest | undefined
  deadLetters(page: { readonly after: string | undefined; readonly limit: number }): Page<StoredDeadLetter>
  counts(): StoreCounts
}

export function createReading({ db }: Database): Reading {
  const findMessage = prepare(db, FIND_MESSAGE)
  const deadLetters = prepare(db, DEAD_LETTERS)
  const counts = prepare(db, COUNTS)
  return {
    latest(messageKey) {
      const row = findMessage.get({ key: digestBytes(messageKey) })
      const latest = row && readMessage(row).latest
      return latest && { record: latest.record, finals: latest.finals.map(({ record }) => record) }
    },
    deadLetters({ after, limit }) {
      const [endedAt = 0, seq = 0] = after === undefined ? [] : after.split('.').map(Number)
      const rows = deadLetters.all({ endedAt, seq, limit: limit + 1 })
      const items = rows.slice(0, limit).map(readDeadLetter)
      const last = rows[limit - 1]
      return rows.length > limit && last !== undefined
        ? { items, next: `${integer(last, 'ended_at')}.${integer(last, 'seq')}` }
        : { items }
    },
    counts() {
      const row = counts.get()
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'deadLetters') }
    },
  }
}

function readDeadLetter(row: Row): StoredDeadLetter {
  return {
    id: text(row, 'id'),
    attempts: integer(row, 'attempts'),
    error: text(row, 'error'),
    diedAtMs: integer(row, 'ended_at'),
    record: decodeRecord(bytes(row, 'record')),
    raw: bytes(row, 'raw'),
  }
}
