/** Handing events over, each under a lease on its message: one round trip, two statements behind a lock. */
import type { Claim, ClaimRequest, ClaimResult } from '../../inbox/store.ts'
import { decodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import { bytes, integer, text, truth, type Row } from './row.ts'
import { fill } from './sql-text.ts'
import { CLAIM } from './statements/claim.ts'
import { LOCK_DUE } from './statements/lock-due.ts'
import { NEXT_DUE } from './statements/next-due.ts'

/** What is due and locked is being admitted or settled by somebody at this moment. */
const LOCKED_AGAIN_MS = 10

export function createClaiming(engine: Engine): (request: ClaimRequest) => Promise<ClaimResult> {
  const lockAndClaim = engine.sql(LOCK_DUE + CLAIM + NEXT_DUE)

  async function claimOnce({ limit, nowMs, leaseUntilMs, exclude }: ClaimRequest) {
    const now = engine.now(nowMs)
    const lease = { sql: `${now.sql} + ${Math.ceil(leaseUntilMs - nowMs)}` }
    const filled = fill(lockAndClaim, { now, lease, limit, exclude: [...exclude] })
    const [locked = [], claimed = [], next = []] = await engine.together(filled)
    return {
      locked: locked[0] === undefined ? 0 : integer(locked[0], 'locked'),
      claims: claimed.map(readClaim),
      aheadMs: next[0] === undefined ? undefined : integer(next[0], 'ahead'),
    }
  }

  return async (request) => {
    const { limit, nowMs } = request
    const claims: Claim[] = []
    for (;;) {
      const { locked, claims: more, aheadMs } = await claimOnce({ ...request, limit: limit - claims.length })
      claims.push(...more)
      if (aheadMs === undefined) return { claims, nextDueMs: undefined }
      if (aheadMs > 0 || claims.length >= limit) return { claims, nextDueMs: nowMs + aheadMs }
      // A message stands in the queue earlier than need be where something newer came in behind a retry: it moved on now.
      if (locked === 0) return { claims, nextDueMs: nowMs + LOCKED_AGAIN_MS }
    }
  }
}

function readClaim(row: Row): Claim {
  return {
    id: text(row, 'id'),
    messageKey: text(row, 'key'),
    token: integer(row, 'token'),
    attempt: integer(row, 'attempt'),
    late: truth(row, 'late'),
    replay: truth(row, 'replay'),
    record: decodeRecord(bytes(row, 'record')),
    raw: bytes(row, 'raw'),
  }
}
