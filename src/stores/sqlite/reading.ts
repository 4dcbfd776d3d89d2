/** What is asked of the file and changes nothing in it. */
import { readExpectation, type KnownExpectation } from '../../inbox/expected.ts'
import { damagedRecord, readRecord } from '../../inbox/record.ts'
import type { OpenStore, StoredDeadLetter } from '../../inbox/store.ts'
import { pageOf } from '../pages.ts'
import type { DamageControl } from './damage.ts'
import type { Database } from './database.ts'
import { digestBytes } from './encoding.ts'
import { expectedIn, FIND_MESSAGE, readMessage, type ExpectedBytes } from './known.ts'
import { blob, cut, integer, prepare, text, type Row } from './statements.ts'

/**
 * A page of dead letters, oldest first. The cursor is the last one's time and number, as a text, so that it names its place
 * whatever stands there.
 */
const DEAD_LETTERS = /* sql */ `
SELECT ended_at || '.' || seq AS place, lower(hex(events.id)) AS id, ${cut('attempts')} AS attempts, error,
  ${cut('ended_at')} AS ended_at, ${cut('admitted_at')} AS admitted_at, record, raw,
  overdue_at = 0 AS was_overdue, expected
FROM events LEFT JOIN messages ON messages.rowid = events.message
WHERE state = 2 AND (events.ended_at, seq) > (:endedAt, :seq) ORDER BY events.ended_at, seq LIMIT :limit
`

/** How much is unsettled and dead; both are counted in narrow partial indexes. */
const COUNTS = /* sql */ `
SELECT (SELECT count(*) FROM events WHERE state = 0) AS unsettled,
  (SELECT count(*) FROM events WHERE state = 2) AS deadLetters
`

/** The place before the first dead letter. */
const BEFORE_ALL = [-(2n ** 63n), 0n] as const
const NO_BYTES = Buffer.alloc(0)

export function createReading(
  { db }: Database,
  damage: DamageControl,
): Pick<OpenStore, 'latest' | 'deadLetters' | 'counts'> {
  const findMessage = prepare(db, FIND_MESSAGE)
  const deadLetters = prepare(db, DEAD_LETTERS)
  const counts = prepare(db, COUNTS)
  return {
    latest(messageKey) {
      const row = findMessage.get({ key: digestBytes(messageKey) })
      const found = row && readMessage(row)
      const latest = found?.latest === 'damaged' ? damage.latestOf(found.message) : found?.latest
      if (latest === undefined) return undefined
      return withExpected({ record: latest.record, finals: latest.finals.map(({ record }) => record) }, found?.expected)
    },
    deadLetters({ after, limit }) {
      const [endedAt, seq] = placeOf(after)
      const rows = deadLetters.all({ endedAt, seq, limit: limit + 1 })
      return pageOf(rows, limit, readDeadLetter, (last) => text(last, 'place'))
    },
    counts() {
      const row = counts.get()
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'deadLetters') }
    },
  }
}

function readDeadLetter(row: Row): StoredDeadLetter {
  const { error } = row
  const json = blob(row, 'record')
  const raw = blob(row, 'raw')
  const letter = {
    id: text(row, 'id'),
    attempts: integer(row, 'attempts'),
    error: typeof error === 'string' ? error : '',
    diedAtMs: integer(row, 'ended_at'),
    record: (raw && readRecord(json)) ?? damagedRecord(json, integer(row, 'admitted_at')),
    raw: raw ?? NO_BYTES,
  }
  return withExpected(letter, expectedIn(row))
}

/** What cannot be read a claim will meet. */
export function withExpected<T extends object>(
  found: T,
  sent: ExpectedBytes | undefined,
): T & { readonly expected?: KnownExpectation } {
  const expectation = readExpectation(sent?.json)
  if (sent === undefined || expectation === undefined) return found
  return { ...found, expected: { expectation, wasOverdue: sent.wasOverdue } }
}

function placeOf(after: string | undefined): readonly [endedAt: bigint, seq: bigint] {
  const [, endedAt, seq] = /^(-?\d+)\.(-?\d+)$/.exec(after ?? '') ?? []
  return endedAt === undefined || seq === undefined ? BEFORE_ALL : [BigInt(endedAt), BigInt(seq)]
}
