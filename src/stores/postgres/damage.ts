/** What was spoilt behind the store's back, as it is told; see "Damage" in the store contract. */
import { MessagingWebhooksError } from '../../errors.ts'

export type Report = (error: MessagingWebhooksError) => void

/** `place` is a column, or a table where a row of it is gone. */
export function eventDamaged(place: string, id: string): MessagingWebhooksError {
  return new MessagingWebhooksError('event_damaged', `It is ${place} of event ${id}.`)
}

/** `others`: how many more were found in the same step. */
export function stateDamaged(place: string, key?: string, others = 0): MessagingWebhooksError {
  const which = key === undefined ? place : `${place} of message ${key}`
  return new MessagingWebhooksError(
    'state_damaged',
    others === 0 ? `It is ${which}.` : `It is ${which}, and ${others} more.`,
  )
}

/** What a dead letter of it says; the database writes the same of what it finds itself. */
export function deadOf(place: string): string {
  return `The store could not read ${place} of this event.`
}
