/** Handing events over, each under a lease on its message. */
import { readRecord } from '../../inbox/record.ts'
import type { Claim, ClaimRequest, ClaimResult } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { LONGEST_WAIT_MS, type DamageControl } from './damage.ts'
import { handedWith } from './handed.ts'
import { prepare } from './prepare.ts'
import { blob, integer, text, type Row } from './row.ts'
import { CLAIM_EVENT } from './statements/claim-event.ts'
import { FIND_DUE } from './statements/find-due.ts'
import { FIRST_WAITING } from './statements/first-waiting.ts'
import { LEASE_MESSAGE } from './statements/lease-message.ts'
import { NEXT_DUE } from './statements/next-due.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'

/** More have never been made. */
const MOST_ATTEMPTS = 2 ** 31

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
    return {
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
