/**
 * One event never harms another: a batch that fails for the data of one of its events is split down to the culprit, which
 * is kept raw as `unrecognized`.
 */
import type { Admission, Awaitable, NewEvent, StoreCounts } from './store.ts'

export interface PoisonStore {
  admit(events: readonly NewEvent[]): Awaitable<readonly Admission[]>
  /** Asked to tell a store that is away from one that refuses. */
  counts(): Awaitable<StoreCounts>
}

/** What no store takes in any form; said for each such event. */
export type OnRefused = (event: NewEvent, cause: unknown) => void

/**
 * Admits a batch; where that fails although the store answers, by halves. Rejects where the store is away. An event that
 * is refused in every form is given to `onRefused`, and undefined stands in its place.
 */
export async function admitAroundPoison(
  store: PoisonStore,
  events: readonly NewEvent[],
  onRefused: OnRefused,
): Promise<readonly (Admission | undefined)[]> {
  try {
    return await store.admit(events)
  } catch (error) {
    // A store that is away fails here again, and the caller hears of that.
    await store.counts()
    const [only] = events
    if (only === undefined) return []
    if (events.length === 1) return [await admitRaw(store, only, error, onRefused)]
    const middle = Math.ceil(events.length / 2)
    const first = await admitAroundPoison(store, events.slice(0, middle), onRefused)
    const second = await admitAroundPoison(store, events.slice(middle), onRefused)
    return [...first, ...second]
  }
}

async function admitRaw(
  store: PoisonStore,
  event: NewEvent,
  cause: unknown,
  onRefused: OnRefused,
): Promise<Admission | undefined> {
  try {
    const [admission] = await store.admit([withoutMeaning(event)])
    return admission
  } catch {
    await store.counts()
    onRefused(event, cause)
    return undefined
  }
}

/** The same bytes under the same identity, with nothing in the record that a store could stumble over. */
function withoutMeaning(event: NewEvent): NewEvent {
  const { kind, timestamp, timestampSource, receivedAtMs, proof } = event.record
  return {
    ...event,
    messageKey: event.id,
    order: '',
    final: false,
    step: 0,
    awaits: 0,
    record: {
      project: undefined,
      kind,
      timestamp,
      timestampSource,
      receivedAtMs,
      proof,
      problem: 'store_refused',
    },
  }
}
