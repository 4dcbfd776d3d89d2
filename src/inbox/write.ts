/** Writes a batch into the store, and where its events may run here at once, leases them in the same step. */
import type { Patience } from './in-store-time.ts'
import type { Admission, AdmittedAndClaimed, Awaitable, ClaimRequest, NewEvent, OpenStore } from './store.ts'

/** Who runs here what is admitted here. */
export interface LocalDispatch {
  /** Holds room for these events, as far as there is any; undefined where there is none, or where older ones go first. */
  room(events: readonly NewEvent[]): ClaimRequest | undefined
  /** The room is free again: the admission failed, or has not answered in time. */
  release(request: ClaimRequest): void
  /**
   * A batch was admitted. What it claimed runs after the answers, in the room that was held for it; what it did not will be
   * claimed. `request` is what `room` gave, perhaps released meanwhile; undefined for a plain admission.
   */
  take(events: readonly NewEvent[], result: AdmittedAndClaimed, request: ClaimRequest | undefined): void
}

type WriteBatch = (
  store: OpenStore<object>,
  events: readonly NewEvent[],
  nowMs: number,
  patience: Patience,
) => Awaitable<readonly Admission[]>

export interface Write {
  /** Admits, and leaves the claim to whoever comes first. */
  readonly plainly: WriteBatch
  /** The same, with leases for what can run here at once. */
  readonly andRun: WriteBatch
}

const NONE: AdmittedAndClaimed['claims'] = []

/** Both reject with `store_slow` where patience ends before the answer comes; what comes later is run all the same. */
export function createWrite(local: LocalDispatch): Write {
  function taken(
    events: readonly NewEvent[],
    result: AdmittedAndClaimed,
    request?: ClaimRequest,
  ): readonly Admission[] {
    local.take(events, result, request)
    return result.admissions
  }

  const plainly: WriteBatch = (store, events, nowMs, patience) => {
    const answer = store.admit(events, nowMs)
    if (!(answer instanceof Promise)) return taken(events, { admissions: answer, claims: NONE })
    return patience.wait(answer.then((admissions) => taken(events, { admissions, claims: NONE })))
  }

  return {
    plainly,
    andRun(store, events, nowMs, patience) {
      const request = store.admitAndClaim === undefined ? undefined : local.room(events)
      if (store.admitAndClaim === undefined || request === undefined) return plainly(store, events, nowMs, patience)
      const failed = (error: unknown): never => {
        local.release(request)
        throw error
      }
      let answer: Awaitable<AdmittedAndClaimed>
      try {
        answer = store.admitAndClaim(events, request)
      } catch (error) {
        return failed(error)
      }
      if (!(answer instanceof Promise)) return taken(events, answer, request)
      const result = answer.then((given) => taken(events, given, request), failed)
      return patience.wait(result, () => local.release(request))
    },
  }
}
