/** Handing events over, each under a lease on its message: one statement. */
import type { Claim, ClaimRequest, ClaimResult } from '../../inbox/store.ts'
import { decodeRecord } from './encoding.ts'
import type { Engine } from './engine.ts'
import { bytes, integer, isNull, text, truth, type Row } from './row.ts'
import { fill } from './sql-text.ts'
import { CLAIM } from './statements/claim.ts'

/** What is due and locked is being admitted or settled by somebody at this moment. */
export const LOCKED_AGAIN_MS = 10

export function createClaiming(engine: Engine): (request: ClaimRequest) => Promise<ClaimResult> {
  const statement = engine.sql(CLAIM)

  return async ({ limit, nowMs, leaseUntilMs, exclude }) => {
    const now = engine.now(nowMs)
    const lease = { sql: `${now.sql} + ${Math.ceil(leaseUntilMs - nowMs)}` }
    const [rows = []] = await engine.together(fill(statement, { now, lease, limit, exclude: [...exclude] }))
    const last = rows.at(-1)
    if (last === undefined || !isNull(last, 'key')) return { claims: rows.map(readClaim), nextDueMs: undefined }
    const claims = rows.slice(0, -1).map(readClaim)
    const aheadMs = integer(last, 'ahead')
    return { claims, nextDueMs: nowMs + (aheadMs > 0 || claims.length >= limit ? aheadMs : LOCKED_AGAIN_MS) }
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
