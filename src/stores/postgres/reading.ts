/** What is asked of the database and changes nothing in it. */
import { damagedRecord, LAST_TIME_MS, readRecord, type EventRecord } from '../../inbox/record.ts'
import type { Page, StoreCounts, StoredDeadLetter, StoredLatest } from '../../inbox/store.ts'
import type { Engine } from './engine.ts'
import { bytes, bytesOrNone, integer, text, truth, within, type Row } from './row.ts'
import { COUNTS } from './statements/counts.ts'
import { DEAD_LETTERS } from './statements/dead-letters.ts'
import { LATEST } from './statements/latest.ts'

/** More final reports than this are not shown of one message; the newest are. */
const MOST_FINALS = 64
/** How many of the newest are looked through for one that can be read, where the newest cannot. */
const MOST_UNREADABLE = 1_000
const CURSOR = /^(-?\d{1,19})\.(-?\d{1,19})$/
/** Before all, whatever their time and number are. */
const BEFORE_ALL = '-9223372036854775808'

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
      for (const among of [1, MOST_UNREADABLE]) {
        const rows = await connections.query(latest, [messageKey, MOST_FINALS, among])
        const record = newestOf(rows)
        if (record === undefined) continue
        const finals = rows.filter((row) => truth(row, 'final')).map((row) => readRecord(bytes(row, 'record')))
        return { record, finals: finals.filter((final) => final !== undefined) }
      }
      return undefined
    },
    async deadLetters({ after, limit }) {
      const [, endedAt = BEFORE_ALL, seq = BEFORE_ALL] = CURSOR.exec(after ?? '') ?? []
      const rows = await connections.query(deadLetters, [endedAt, seq, limit + 1])
      const items = rows.slice(0, limit).map(readDeadLetter)
      const last = rows[limit - 1]
      // As the server wrote them: they may be beyond what is exact here.
      return rows.length > limit && last !== undefined
        ? { items, next: `${text(last, 'ended_at')}.${text(last, 'seq')}` }
        : { items }
    },
    async counts() {
      const [row] = await connections.query(counts)
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'dead') }
    },
  }
}

/** By order they come, the greatest last. */
function newestOf(rows: readonly Row[]): EventRecord | undefined {
  for (const row of rows.toReversed()) {
    const record = truth(row, 'newest') ? readRecord(bytes(row, 'record')) : undefined
    if (record !== undefined) return record
  }
  return undefined
}

function readDeadLetter(row: Row): StoredDeadLetter {
  const diedAtMs = within(row, 'ended_at', LAST_TIME_MS, 0)
  const json = bytesOrNone(row, 'record')
  const raw = bytesOrNone(row, 'raw')
  return {
    id: text(row, 'id'),
    attempts: within(row, 'attempts', Number.MAX_SAFE_INTEGER, 0),
    error: bytes(row, 'error').toString('utf8'),
    diedAtMs,
    record: (raw === undefined ? undefined : readRecord(json)) ?? damagedRecord(json, diedAtMs),
    raw: raw ?? Buffer.alloc(0),
  }
}
