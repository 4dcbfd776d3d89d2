/** What the stores decide alike that admit and claim in one call of their engine: which events may be leased, and their claims. */
import type { KnownExpectation } from '../inbox/expected.ts'
import type { Admission, AdmittedAndClaimed, Claim, ClaimRequest, NewEvent } from '../inbox/store.ts'

/** What became of each event of a batch, and the token of its lease: `NO_LEASE` where it is under none. */
export interface AdmittedAndLeased {
  readonly admissions: readonly Admission[]
  readonly tokens: readonly number[]
  /** Of those that are leased, what is expected of their messages, where any is. */
  readonly expected?: readonly (KnownExpectation | undefined)[] | undefined
}

export const NO_LEASE = 0

/**
 * Of each event whether it may be leased, if the engine finds nothing against it. Of several of one message none: the second
 * may belong before the first.
 */
export function leasableOf(
  events: readonly Pick<NewEvent, 'messageKey'>[],
  { limit, exclude }: Pick<ClaimRequest, 'limit' | 'exclude'>,
): readonly boolean[] {
  const counts = new Map<string, number>()
  for (const { messageKey } of events) counts.set(messageKey, (counts.get(messageKey) ?? 0) + 1)
  let chosen = 0
  return events.map(({ messageKey }) => {
    const isLeasable = chosen < limit && counts.get(messageKey) === 1 && !exclude.has(messageKey)
    if (isLeasable) chosen += 1
    return isLeasable
  })
}

/** As the contract says it: the records and bodies of the claims are those given. */
export function withClaims(
  events: readonly NewEvent[],
  { admissions, tokens, expected }: AdmittedAndLeased,
): AdmittedAndClaimed {
  const claims = events.flatMap(({ id, messageKey, record, raw }, index): readonly Claim[] => {
    const token = tokens[index] ?? NO_LEASE
    if (token === NO_LEASE) return []
    const late = admissions[index] === 'late'
    const claim: Claim = { id, messageKey, token, attempt: 1, late, replay: false, record, raw }
    const known = expected?.[index]
    return [known === undefined ? claim : { ...claim, expected: known }]
  })
  return { admissions, claims }
}
