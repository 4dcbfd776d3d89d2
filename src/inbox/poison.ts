/**
 * One event never harms another: where a batch fails, its events are admitted alone, and one that the store refuses even
 * then is offered as bytes without meaning, an `unrecognized` event.
 */
import { isOurs } from '../public/errors.ts'
import type { Admission, Awaitable, NewEvent } from './store.ts'
import { isError } from '../runtime/values.ts'

/** Two for whom somebody waits: a store that is away may take its time to refuse each. */
const MOST_REFUSED = 2

type Admit = (events: readonly NewEvent[]) => Awaitable<readonly (Admission | Error)[]>

/**
 * Admits a batch, and says for each event what became of it, or why it was not taken. Rejects where none was taken, or
 * where the store went away meanwhile: then all of them are to be offered again. An event that was not taken must be kept
 * by the caller; nobody knows that it is to blame. Where nobody waits for an answer, `mostRefused` may be all of them: then
 * no few that the store refuses keep back what stands behind them.
 */
export async function admitAroundPoison(
  admit: Admit,
  events: readonly NewEvent[],
  mostRefused = MOST_REFUSED,
): Promise<readonly (Admission | Error)[]> {
  try {
    return await admit(events)
  } catch (error) {
    // It says that the store is away: it did not answer, or is locked.
    if (isOurs(error)) throw error
    const results: (Admission | Error)[] = []
    for (const event of events) {
      results.push(await admitAs([event], admit))
      if (results.length !== Math.min(mostRefused, events.length) || !results.every(isRefusal)) continue
      await offerAgain(admit, events.slice(0, MOST_REFUSED), results)
      // Not the data, but the store.
      if (results.every(isRefusal)) throw error
    }
    await offerAgain(admit, events, results)
    return results
  }
}

/**
 * The refused ones without their meaning, and before that as they are: what another success shows to be there now may have
 * been away when they were offered first.
 */
async function offerAgain(admit: Admit, events: readonly NewEvent[], results: (Admission | Error)[]): Promise<void> {
  for (const [index, event] of events.entries()) {
    const result = results[index]
    if (result !== undefined && isRefusal(result)) results[index] = await admitAs([event, withoutMeaning(event)], admit)
  }
}

function isRefusal(result: Admission | Error): result is Error {
  return isError(result)
}

/** One event alone, in the first of these forms that the store takes. */
async function admitAs(forms: readonly NewEvent[], admit: Admit): Promise<Admission | Error> {
  let cause: unknown
  for (const form of forms) {
    try {
      const [admission] = await admit([form])
      if (admission !== undefined) return admission
    } catch (error) {
      // Its meaning must not be lost to a connection that was cut.
      if (isOurs(error)) throw error
      cause ??= error
    }
  }
  return isError(cause) ? cause : new Error('The store refused the event.', { cause })
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
