/** Taking events in: one statement a batch, which leases what can be handed over at once where it is asked to. */
import type { Admission, AdmittedAndClaimed, Claim, ClaimRequest, NewEvent } from '../../inbox/store.ts'
import { stateDamaged, type Report } from './damage.ts'
import { encodeRecord, hexOf } from './encoding.ts'
import type { Engine } from './engine.ts'
import { placesByKey } from './key-order.ts'
import { integers, words } from './row.ts'
import { fill } from './sql-text.ts'
import { ADMIT } from './statements/admit.ts'

/** By the numbers that the function answers. */
const ADMISSIONS: readonly (Admission | undefined)[] = ['duplicate', 'new', 'late']
const NO_LEASE = 0

interface AdmissionVerbs {
  admit(events: readonly NewEvent[], nowMs: number): Promise<readonly Admission[]>
  admitAndClaim(events: readonly NewEvent[], request: ClaimRequest): Promise<AdmittedAndClaimed>
}

export function createAdmission(engine: Engine, report: Report): AdmissionVerbs {
  const { connections } = engine
  const statement = engine.sql(ADMIT)

  async function admit(
    events: readonly NewEvent[],
    nowMs: number,
    request?: ClaimRequest,
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
        lease: request === undefined ? now : { sql: `${now.sql} + ${Math.ceil(request.leaseUntilMs - nowMs)}` },
        keys: given.map(({ messageKey }) => messageKey),
        ids: given.map(({ id }) => id),
        orders: given.map(({ order }) => hexOf(order)),
        finals: given.map(({ final }) => Number(final)),
        steps: given.map(({ step }) => step),
        awaits: given.map(({ awaits }) => awaits),
        gaps: given.map(({ awaits, gapUntilMs }) => (awaits === 0 ? 0 : gapUntilMs - nowMs)),
        leasables: sorted.map((place) => Number(leasables?.has(place) === true)),
        ...pack(given),
      }),
    )
    const codes = row === undefined ? [] : integers(row, 'admissions')
    const tokens = row === undefined ? [] : integers(row, 'tokens')
    for (const spoilt of row === undefined ? [] : words(row, 'spoilt')) report(stateDamaged(...placeAndKey(spoilt)))
    const admissions: Admission[] = []
    const claims: (Claim | undefined)[] = []
    for (const [index, place] of sorted.entries()) {
      const event = events[place]
      const admission = ADMISSIONS[codes[index] ?? -1]
      const token = tokens[index] ?? NO_LEASE
      if (event === undefined || admission === undefined) throw new Error('The database answered for fewer events.')
      admissions[place] = admission
      if (token !== NO_LEASE) claims[place] = claimOf(event, token, admission === 'late')
    }
    return { admissions, claims: claims.filter((claim) => claim !== undefined) }
  }

  return {
    async admit(events, nowMs) {
      return (await admit(events, nowMs)).admissions
    },
    admitAndClaim: (events, request) => admit(events, request.nowMs, request),
  }
}

function placeAndKey(spoilt: string): [place: string, key: string] {
  const [place = '', key = ''] = spoilt.split(':')
  return [place, key]
}

/** The places of those that may be leased: alone of their message here, and not excluded, the first so many. */
function leasableOf(events: readonly NewEvent[], { limit, exclude }: ClaimRequest): ReadonlySet<number> {
  const times = new Map<string, number>()
  for (const { messageKey } of events) times.set(messageKey, (times.get(messageKey) ?? 0) + 1)
  const places: number[] = []
  for (const [place, { messageKey }] of events.entries()) {
    if (places.length >= limit) break
    if (times.get(messageKey) === 1 && !exclude.has(messageKey)) places.push(place)
  }
  return new Set(places)
}

function claimOf({ id, messageKey, record, raw }: NewEvent, token: number, late: boolean): Claim {
  return { id, messageKey, token, attempt: 1, late, replay: false, record, raw }
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
