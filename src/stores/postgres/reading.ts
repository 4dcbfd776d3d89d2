/** What is asked of the database and changes nothing in it. */
import type { Page, StoreCounts, StoredDeadLetter, StoredLatest } from '../../inbox/store.ts'
import { decodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import { bytes, integer, text, truth, type Row } from './row.ts'
import { COUNTS } from './statements/counts.ts'
import { DEAD_LETTERS } from './statements/dead-letters.ts'
import { LATEST } from './statements/latest.ts'

/** More final reports than this are not shown of one message; the newest are. */
const MOST_FINALS = 64

interface Reading {
  latest(messageKey: string): Promise<StoredLatest | undefined>
  deadLetters(page: { readonly after: string | undefined; readonly limit: number }): Promise<Page<StoredDeadLetter>>
  counts(): Promise<StoreCounts>
}

export function createReading({ connections, sql }: Engine): Reading {
  const latest = sql(LATEST)
  const deadLetters = sql(DEAD_LETTERS)
  const counts = sql(COUNTS)
  return {
    async latest(messageKey) {
      const rows = await connections.query(latest, [messageKey, MOST_FINALS])
      const newest = rows.find((row) => truth(row, 'newest'))
      if (newest === undefined) return undefined
      const finals = rows.filter((row) => truth(row, 'final')).map(recordOf)
      return { record: recordOf(newest), finals }
    },
    async deadLetters({ after, limit }) {
      const [endedAt = 0, seq = 0] = after === undefined ? [] : after.split('.').map(Number)
      const rows = await connections.query(deadLetters, [endedAt, seq, limit + 1])
      const items = rows.slice(0, limit).map(readDeadLetter)
      const last = rows[limit - 1]
      return rows.length > limit && last !== undefined
        ? { items, next: `${integer(last, 'ended_at')}.${integer(last, 'seq')}` }
        : { items }
    },
    async counts() {
      const [row] = await connections.query(counts)
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'dead') }
    },
  }
}

function recordOf(row: Row): StoredLatest['record'] {
  return decodeRecord(bytes(row, 'record'))
}

function readDeadLetter(row: Row): StoredDeadLetter {
  return {
    id: text(row, 'id'),
    attempts: integer(row, 'attempts'),
    error: bytes(row, 'error').toString('utf8'),
    diedAtMs: integer(row, 'ended_at'),
    record: recordOf(row),
    raw: bytes(row, 'raw'),
  }
}
