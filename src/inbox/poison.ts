/**
 * One event never harms another: where a batch fails, its events are admitted alone, and one that the store refuses even
 * then is offered as bytes without meaning, an `unrecognized` event.
 */
import { isOurs } from '../errors.ts'
import type { Admission, Awaitable, NewEvent } from './store.ts'

type Admit = (events: readonly NewEvent[]) => Awaitable<readonly Admission[]>

/**
 * Admits a batch, and says for each event what became of it, or why it was not taken. Rejects where none was taken, or
 * where the store went away meanwhile: then all of them are to be offered again. An event that was not taken must be kept
 * by the caller; nobody knows that it is to blame.
 */
export async function admitAroundPoison(
  admit: Admit,
  events: readonly NewEvent[],
): Promise<readonly (Admission | Error)[]> {
  try {
    return await admit(events)
  } catch (error) {
    // It says that the store is away: it did not answer, or is locked.
    if (isOurs(error)) throw error
    const results: (Admission | Error)[] = []
    for (const event of events) {
      results.push(await admitAlone(admit, event))
      // Two in a row without a success before: not the data, but the store.
      if (results.length > 1 && results.every((result) => result instanceof Error)) throw error
    }
    if (results.every((result) => result instanceof Error)) throw error
    return results
  }
}

async function admitAlone(admit: Admit, event: NewEvent): Promise<Admission | Error> {
  let cause: unknown
  for (const form of [event, withoutMeaning(event)]) {
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

/** What was thrown may be anything, and throw when it is asked. */
function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error
  } catch {
    return false
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
