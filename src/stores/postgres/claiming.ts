/** Handing events over, each under a lease on its message: one statement. */
import { readRecord } from '../../inbox/record.ts'
import type { Claim, ClaimRequest, ClaimResult, Settlement } from '../../inbox/store.ts'
import { deadOf, eventDamaged, stateDamaged, type Report } from './damage.ts'
import { bytes, integer, isNull, text, truth, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { createOverdueAdmission, expectedIn } from './expecting.ts'
import { fill } from './sql-text.ts'

/** Claims: see the function. :now, :lease (its end), :holder, :exclude (keys, hex), :limit. Returns claims, damages, and how long from now. */
const CLAIM = /* sql */ 'SELECT * FROM {schema}.claim_{set}(:now, :lease, :holder, :exclude, :limit);'

/** What is due and locked is being admitted or settled by somebody at this moment. */
export const LOCKED_AGAIN_MS = 10

/** A claim resolves to undefined where others have taken the holder for dead. */
export function createClaiming(options: {
  readonly engine: Engine
  readonly settle: (settlements: readonly Settlement[], nowMs: number) => Promise<readonly boolean[]>
  readonly report: Report
}): (request: ClaimRequest, holder: number) => Promise<ClaimResult | undefined> {
  const { engine, settle, report } = options
  const statement = engine.sql(CLAIM)
  const { dropUnreadable } = createOverdueAdmission(engine, report)

  /** Whether a record can be read, only this process can tell. */
  async function setAside(claims: readonly Row[], nowMs: number): Promise<void> {
    const dead = claims.map((row): Settlement => {
      const place = { id: text(row, 'id'), messageKey: text(row, 'key'), token: integer(row, 'token') }
      return { ...place, outcome: 'dead', error: deadOf('events.record') }
    })
    try {
      const held = await settle(dead, nowMs)
      for (const [index, { id }] of dead.entries()) if (held[index] === true) report(eventDamaged('events.record', id))
    } catch {
      // When the lease has run out, a claim meets it again. The others must not wait for that.
    }
  }

  return async ({ limit, nowMs, leaseUntilMs, exclude }, holder) => {
    const now = engine.now(nowMs)
    const lease = { sql: `${now.sql} + ${Math.ceil(leaseUntilMs - nowMs)}` }
    const [rows = []] = await engine.together(fill(statement, { now, lease, holder, limit, exclude: [...exclude] }))
    const claims: Claim[] = []
    const unreadable: Row[] = []
    let aheadMs: number | undefined
    for (const row of rows) {
      if (!isNull(row, 'ahead')) aheadMs = integer(row, 'ahead')
      else if (isNull(row, 'spoilt')) {
        const claim = readClaim(row)
        if (claim === undefined) unreadable.push(row)
        else claims.push(claim)
        if (claim !== undefined && claim.expected === undefined && !isNull(row, 'sent'))
          await dropUnreadable(claim.messageKey)
      } else {
        const place = text(row, 'spoilt')
        if (place === 'holder') return undefined
        report(truth(row, 'is_dead') ? eventDamaged(place, text(row, 'id')) : stateDamaged(place, text(row, 'key')))
      }
    }
    if (unreadable.length > 0) {
      await setAside(unreadable, nowMs)
      // What comes next of their messages is due.
      return { claims, nextDueMs: nowMs + LOCKED_AGAIN_MS }
    }
    if (aheadMs === undefined) return { claims, nextDueMs: undefined }
    return { claims, nextDueMs: nowMs + (aheadMs > 0 || claims.length >= limit ? aheadMs : LOCKED_AGAIN_MS) }
  }
}

/** Undefined where its record cannot be read; all else the database has looked at. */
function readClaim(row: Row): Claim | undefined {
  const record = readRecord(bytes(row, 'record'))
  if (record === undefined) return undefined
  const expected = expectedIn(row, 'sent')
  return {
    ...(expected && { expected }),
    id: text(row, 'id'),
    messageKey: text(row, 'key'),
    token: integer(row, 'token'),
    attempt: integer(row, 'attempt'),
    late: truth(row, 'late'),
    replay: truth(row, 'replay'),
    record,
    raw: bytes(row, 'raw'),
  }
}
