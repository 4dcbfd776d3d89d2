/** Handing events over, each under a lease on its message. */
import { readRecord } from '../../inbox/record.ts'
import type { Claim, ClaimRequest, ClaimResult } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { LONGEST_WAIT_MS, type DamageControl } from './damage.ts'
import { expectedIn, handedWith, SCHEDULE_MESSAGE } from './known.ts'
import { blob, cut, integer, prepare, text, type Row } from './statements.ts'

/** More have never been made. */
const MOST_ATTEMPTS = 2 ** 31

/**
 * Messages of which something is due or whose lease has run out, the longest due first. The limit is a sum, for SQLite prepares
 * a statement anew whenever the parameter of a bare LIMIT is bound (measured: 3.8 µs a call instead of 1.0).
 */
export const FIND_DUE = /* sql */ `
SELECT rowid, lower(hex(key)) AS key, handed, handed_open, ${cut('token')} AS token,
  overdue_at = 0 AS was_overdue, expected
FROM messages
WHERE due <= :now ORDER BY due, rowid LIMIT :limit + 0
`

/** A message's first waiting event. */
export const FIRST_WAITING = /* sql */ `
SELECT seq, lower(hex(id)) AS id, ord, final, ${cut('due')} AS due, late, replay, ${cut('attempts')} AS attempts,
  ${cut('admitted_at')} AS admitted_at, record, raw
FROM events WHERE message = :message AND state = 0 ORDER BY ord LIMIT 1
`

/** Counts the attempt and gives the event the token of its new holder. */
const CLAIM_EVENT = /* sql */ `
UPDATE events SET attempts = :attempts, token = :token WHERE seq = :seq
`

/** Until the lease runs out, or its holder dies, nobody else is given anything of this message. */
const LEASE_MESSAGE = /* sql */ `
UPDATE messages
SET token = :token, lease_token = :token, holder = :holder, due = :until, handed = :handed, handed_open = :handedOpen
WHERE rowid = :message
`

/** When something is due next; more than one row, for some may be excluded. As to the limit, see FIND_DUE. */
export const NEXT_DUE = /* sql */ `
SELECT lower(hex(key)) AS key, ${cut('due')} AS due FROM messages WHERE due IS NOT NULL ORDER BY messages.due LIMIT :limit + 0
`

/** `holder` says under whose name to lease; null for nobody's. */
export function createClaiming(
  { db, transaction }: Database,
  holder: () => number | null,
  damage: DamageControl,
): (request: ClaimRequest) => ClaimResult {
  const findDue = prepare(db, FIND_DUE)
  const firstWaiting = prepare(db, FIRST_WAITING)
  const claimEvent = prepare(db, CLAIM_EVENT)
  const leaseMessage = prepare(db, LEASE_MESSAGE)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)
  const nextDue = prepare(db, NEXT_DUE)

  function claimFirst(row: Row, request: ClaimRequest): Claim | undefined {
    const message = integer(row, 'rowid')
    const { nowMs } = request
    const first = firstWaiting.get({ message })
    // The lease has run out, but the first event is to be tried again later, or there is none any more.
    if (first === undefined || isLater(integer(first, 'due'), nowMs)) {
      scheduleMessage.run({ message })
      return undefined
    }
    const record = readRecord(blob(first, 'record'))
    const raw = blob(first, 'raw')
    if (record === undefined || raw === undefined) {
      damage.setAside(first, record === undefined ? 'events.record' : 'events.raw', nowMs)
      return claimFirst(row, request)
    }
    const known = integer(row, 'token')
    const token = known < Number.MAX_SAFE_INTEGER ? known + 1 : damage.tokenAfter(message)
    const handed = { handed: text(row, 'handed'), handedOpen: text(row, 'handed_open') }
    const attempt = Math.min(integer(first, 'attempts'), MOST_ATTEMPTS) + 1
    claimEvent.run({ seq: integer(first, 'seq'), token, attempts: attempt })
    leaseMessage.run({
      message,
      token,
      holder: holder(),
      until: request.leaseUntilMs,
      ...handedWith(handed, text(first, 'ord'), integer(first, 'final') === 1),
    })
    const sent = row['expected'] === null ? undefined : expectedIn(row)
    const expected = sent && damage.expectedOf(message, sent)
    return {
      ...(expected && { expected }),
      id: text(first, 'id'),
      messageKey: text(row, 'key'),
      token,
      attempt,
      late: integer(first, 'late') === 1,
      replay: integer(first, 'replay') === 1,
      record,
      raw,
    }
  }

  function nextDueMs({ exclude }: ClaimRequest): number | undefined {
    const row = nextDue.all({ limit: exclude.size + 1 }).find((next) => !exclude.has(text(next, 'key')))
    return row && integer(row, 'due')
  }

  return (request) => {
    const { limit, nowMs, exclude } = request
    // Most calls find nothing, and looking needs no transaction that writes.
    const dueAtFirst = nextDueMs(request)
    if (dueAtFirst === undefined || dueAtFirst > nowMs) return { claims: [], nextDueMs: dueAtFirst }
    return transaction(false, nowMs, () => {
      const claims: Claim[] = []
      for (let looking = true; looking && claims.length < limit;) {
        const due = findDue
          .all({ now: nowMs, limit: limit - claims.length + exclude.size })
          .filter((row) => !exclude.has(text(row, 'key')))
        for (const row of due) {
          if (claims.length >= limit) break
          const claimed = claimFirst(row, request)
          if (claimed !== undefined) claims.push(claimed)
        }
        looking = due.length > 0
      }
      return { claims, nextDueMs: nextDueMs(request) }
    })
  }
}

/** An absurd time is as good as now. */
function isLater(dueMs: number, nowMs: number): boolean {
  return dueMs > nowMs && dueMs <= nowMs + LONGEST_WAIT_MS
}
