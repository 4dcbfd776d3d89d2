/**
 * Isolates an event that the store refuses: if a batch fails, its events are admitted one by one, and one that is refused again
 * is offered as plain bytes, an `unrecognized` event.
 */
import { isOurs } from '../public/errors.ts'
import { NO_PLACE } from '../messages/order.ts'
import type { Admission } from '../messages/commands.ts'
import type { Awaitable } from './store.ts'
import type { NewEvent } from '../messages/event-record.ts'
import { isError } from '../runtime/values.ts'

/** Kept low because callers wait, and an unavailable store may refuse each event slowly. */
const MAX_REFUSED = 2

type Admit = (events: readonly NewEvent[]) => Awaitable<readonly (Admission | Error)[]>

/**
 * Admits a batch, and returns for each event its admission or the error. Rejects if none was admitted, or if the store became
 * unavailable; then offer all of them again. The caller must keep an event that was not admitted, because the event need not be
 * the cause. Without waiting callers, `mostRefused` may be the whole batch, so that a few refused events do not block those
 * behind them.
 */
export async function admitAroundPoison(
  admit: Admit,
  events: readonly NewEvent[],
  mostRefused = MAX_REFUSED,
): Promise<readonly (Admission | Error)[]> {
  try {
    return await admit(events)
  } catch (error) {
    // A `MessagingWebhooksError` means that the store is unavailable: it did not respond, or is locked.
    if (isOurs(error)) throw error
    const results: (Admission | Error)[] = []
    for (const event of events) {
      results.push(await admitAs([event], admit))
      if (results.length !== Math.min(mostRefused, events.length) || !results.every(isRefusal)) continue
      await offerAgain(admit, events.slice(0, MAX_REFUSED), results)
      // The store is at fault, not the data.
      if (results.every(isRefusal)) throw error
    }
    await offerAgain(admit, events, results)
    return results
  }
}

/**
 * Offers refused events again, first unchanged and then without their meaning: the success of another event shows that the
 * store may have recovered since.
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

/** Admits one event in the first form that the store accepts. */
async function admitAs(forms: readonly NewEvent[], admit: Admit): Promise<Admission | Error> {
  let cause: unknown
  for (const form of forms) {
    try {
      const [admission] = await admit([form])
      if (admission !== undefined) return admission
    } catch (error) {
      // A broken connection must not turn the event into an `unrecognized` one.
      if (isOurs(error)) throw error
      cause ??= error
    }
  }
  return isError(cause) ? cause : new Error('The store refused the event.', { cause })
}

/** The same bytes and identity, with a record that no store can fail on. */
function withoutMeaning(event: NewEvent): NewEvent {
  const { kind, timestamp, timestampSource, receivedAtMs, proof } = event.record
  return {
    ...event,
    messageKey: event.id,
    ...NO_PLACE,
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
