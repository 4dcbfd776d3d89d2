/** Taking events in: one statement a batch, which leases what can be handed over at once where it is asked to. */
import type { Admission, AdmittedAndClaimed, ClaimRequest, NewEvent } from '../../inbox/store.ts'
import { leasableOf, NO_LEASE, withClaims } from '../leasable.ts'
import { stateDamaged, type Report } from './damage.ts'
import { encodeRecord, hexOf, integers, words } from './encoding.ts'
import { placesByKey, type Engine } from './engine.ts'
import { fill } from './sql-text.ts'

/** Admits a batch: see the function. :now, :lease (its end), :holder, :bytes (hex), and arrays of one entry an event. Returns one row. */
const ADMIT = /* sql */ `
SELECT admissions, tokens, spoilt FROM {schema}.admit_{set}(
  :now, :lease, :holder, :keys, :ids, :orders, :finals, :steps, :awaits, :gaps, :leasables, decode(:bytes, 'hex'), :starts,
  :recordEnds, :bodyEnds
);
`

/** By the numbers that the function answers. */
const ADMISSIONS: readonly (Admission | undefined)[] = ['duplicate', 'new', 'late']

interface AdmissionVerbs {
  admit(events: readonly NewEvent[], nowMs: number): Promise<readonly Admission[]>
  /** For this holder. */
  admitAndClaim(events: readonly NewEvent[], request: ClaimRequest, holder: number): Promise<AdmittedAndClaimed>
}

export function createAdmission(engine: Engine, report: Report): AdmissionVerbs {
  const { connections } = engine
  const statement = engine.sql(ADMIT)

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
    return withClaims(events, { admissions, tokens })
  }

  return {
    async admit(events, nowMs) {
      return (await admit(events, nowMs)).admissions
    },
    admitAndClaim: (events, request, holder) => admit(events, request.nowMs, request, holder),
  }
}

function placeAndKey(spoilt: string): [place: string, key: string] {
  const [place = '', key = ''] = spoilt.split(':')
  return [place, key]
}

/** Records and bodies as one value, with places in it. */
function pack(events: readonly NewEvent[]) {
  const parts: Buffer[] = []
  const starts: number[] = []
  const recordEnds: number[] = []
  const bodyEnds: number[] = []
  let end = 0
  for (const { record, raw } of events) {
    const encoded = encodeRecord(record)
    parts.push(encoded, raw)
    starts.push(end)
    recordEnds.push((end += encoded.length))
    bodyEnds.push((end += raw.length))
  }
  return { bytes: Buffer.concat(parts).toString('hex'), starts, recordEnds, bodyEnds }
}
