/**
 * Admission for who does not know of parts: each takes its share, all at once. Where one rejects, the others have theirs, and
 * know it as duplicates when everything is offered again.
 */
import type {
  Admission,
  AdmittedAndClaimed,
  Claim,
  ClaimRequest,
  JoinedStore,
  NewEvent,
  OpenStore,
} from '../../inbox/store.ts'
import { leasableOf } from '../leasable.ts'
import { groupedBy, type Parts } from './parts.ts'

export function createAdmission<X extends object>(
  parts: Parts<X>,
  homeOf: JoinedStore<X>['homeOf'],
  inPart: (claim: Claim, part: OpenStore<X>, name: string) => Claim,
): Required<Pick<OpenStore<X>, 'admit' | 'admitAndClaim'>> {
  /** The admissions and claims of each share, put together in the order of the events. */
  async function inShares(
    events: readonly NewEvent[],
    take: (part: OpenStore<X>, share: readonly NewEvent[], places: readonly number[]) => Promise<AdmittedAndClaimed>,
  ): Promise<AdmittedAndClaimed> {
    const homes = await Promise.all(events.map(async ({ messageKey }) => homeOf(messageKey)))
    const shares = groupedBy(events, (_, index) => homes[index] ?? '')
    const admissions: Admission[] = []
    const claims: (readonly [place: number, claim: Claim])[] = []
    await parts.each(
      async (part, name) => {
        const places = shares.get(name) ?? []
        const share = places.flatMap((place) => events[place] ?? [])
        const taken = await take(part, share, places)
        for (const [index, place] of places.entries()) admissions[place] = taken.admissions[index] ?? 'new'
        for (const claim of taken.claims)
          claims.push([places[share.findIndex(({ id }) => id === claim.id)] ?? -1, inPart(claim, part, name)])
      },
      [...shares.keys()],
    )
    return { admissions, claims: claims.sort(([a], [b]) => a - b).map(([, claim]) => claim) }
  }

  return {
    async admit(events, nowMs) {
      const admitted = await inShares(events, async (part, share) => {
        return { admissions: await part.admit(share, nowMs), claims: [] }
      })
      return admitted.admissions
    },
    admitAndClaim(events: readonly NewEvent[], request: ClaimRequest) {
      const leasable = leasableOf(events, request)
      return inShares(events, async (part, share, places) => {
        const limit = places.filter((place) => leasable[place] === true).length
        if (part.admitAndClaim === undefined || limit === 0)
          return { admissions: await part.admit(share, request.nowMs), claims: [] }
        return part.admitAndClaim(share, { ...request, limit })
      })
    },
  }
}
