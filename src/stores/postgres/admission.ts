/** Taking events in: one statement a batch, which leases what can be handed over at once where it is asked to. */
import { readExpectation, type KnownExpectation } from '../../inbox/expected.ts'
import type { Admission, AdmittedAndClaimed, ClaimRequest, NewEvent } from '../../inbox/store.ts'
import { leasableOf, NO_LEASE, withClaims } from '../leasable.ts'
import { stateDamaged, type Report } from './damage.ts'
import { hexOf, integers, pack, words } from './encoding.ts'
import { placesByKey, type Engine } from './engine.ts'
import { createOverdueAdmission } from './expecting.ts'
import { fill } from './sql-text.ts'

/** Admits a batch: see the function. :now, :lease (its end), :holder, :bytes (hex), and arrays of one entry an event. Returns one row. */
const ADMIT = /* sql */ `
SELECT admissions, tokens, spoilt, sents FROM {schema}.admit_{set}(
  :now, :lease, :holder, :keys, :ids, :orders, :finals, :steps, :awaits, :gaps, :leasables, decode(:bytes, 'hex'), :starts,
  :recordEnds, :bodyEnds
);
`

/** By the numbers that the function answers. */
const ADMISSIONS: readonly (Admission | undefined)[] = ['duplicate', 'new', 'late']

interface AdmissionVerbs {
  admit(events: readonly NewEvent[], nowMs: number): Promise<readonly Admission[]>
  admitOverdue(events: readonly NewEvent[], nowMs: number): Promise<readonly boolean[]>
  /** For this holder. */
  admitAndClaim(events: readonly NewEvent[], request: ClaimRequest, holder: number): Promise<AdmittedAndClaimed>
}

export function createAdmission(engine: Engine, report: Report): AdmissionVerbs {
  const { connections } = engine
  const statement = engine.sql(ADMIT)
  const { admitOverdue, dropUnreadable } = createOverdueAdmission(engine, report)

  async function admit(
    events: readonly NewEvent[],
    nowMs: number,
    request?: ClaimRequest,
    holder = 0,
  ): Promise<AdmittedAndClaimed> {
    // That the server answers is all that an empty batch asks.
    if (events.length === 0) {
      await connections.query('SELECT 1')
      return { admissions: [], claims: [] }
    }
    const now = engine.now(nowMs)
    const leasables = request === undefined ? undefined : leasableOf(events, request)
    const sorted = placesByKey(events)
    const given = sorted.flatMap((place) => events[place] ?? [])
    const [[row] = []] = await engine.together(
      fill(statement, {
        now,
        holder,
        lease: request === undefined ? now : { sql: `${now.sql} + ${Math.ceil(request.leaseUntilMs - nowMs)}` },
        keys: given.map(({ messageKey }) => messageKey),
        ids: given.map(({ id }) => id),
        orders: given.map(({ order }) => hexOf(order)),
        finals: given.map(({ final }) => Number(final)),
        steps: given.map(({ step }) => step),
        awaits: given.map(({ awaits }) => awaits),
        gaps: given.map(({ awaits, gapUntilMs }) => (awaits === 0 ? 0 : gapUntilMs - nowMs)),
        leasables: sorted.map((place) => Number(leasables?.[place] === true)),
        ...pack(given),
      }),
    )
    const codes = row === undefined ? [] : integers(row, 'admissions')
    const leases = row === undefined ? [] : integers(row, 'tokens')
    for (const spoilt of row === undefined ? [] : words(row, 'spoilt')) report(stateDamaged(...placeAndKey(spoilt)))
    const admissions: Admission[] = []
    const tokens: number[] = []
    for (const [index, place] of sorted.entries()) {
      const admission = ADMISSIONS[codes[index] ?? -1]
      if (admission === undefined) throw new Error('The database answered for fewer events.')
      admissions[place] = admission
      tokens[place] = leases[index] ?? NO_LEASE
    }
    const sents = row === undefined ? [] : words(row, 'sents')
    if (sents.length === 0) return withClaims(events, { admissions, tokens })
    const expected: (KnownExpectation | undefined)[] = []
    for (const sent of sents) {
      const [place = '', wasOverdue, hex = ''] = sent.split(':')
      const at = sorted[Number(place)] ?? -1
      const expectation = readExpectation(Buffer.from(hex, 'hex'))
      if (expectation === undefined) await dropUnreadable(events[at]?.messageKey ?? '')
      else expected[at] = { expectation, wasOverdue: wasOverdue === '1' }
    }
    return withClaims(events, { admissions, tokens, expected })
  }

  return {
    async admit(events, nowMs) {
      return (await admit(events, nowMs)).admissions
    },
    admitOverdue,
    admitAndClaim: (events, request, holder) => admit(events, request.nowMs, request, holder),
  }
}

function placeAndKey(spoilt: string): [place: string, key: string] {
  const [place = '', key = ''] = spoilt.split(':')
  return [place, key]
}
