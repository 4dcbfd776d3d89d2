/** Events that no handler listens to: counted, and said, for they are settled and would vanish in silence. */
import { PROBLEMS, type EventType, type WebhookEvent } from '../events.ts'
import type { Logger } from '../logger.ts'
import { likelyCause } from './likely-cause.ts'

interface Unhandled {
  /** Of this process, since it began. */
  readonly count: number
  /** No handler listens to this one. */
  see(event: WebhookEvent): void
}

export function createUnhandled(logger: Logger): Unhandled {
  const said = new Set<EventType>()
  let count = 0

  function sayUnrecognized(event: Extract<WebhookEvent, { readonly type: 'unrecognized' }>): void {
    const { id: eventId, kind, problem } = event
    logger.warn(
      { code: 'unrecognized_unhandled', eventId, ...(kind === undefined ? undefined : { kind }), problem },
      `A callback came that could not be read (${problem}), and no handler listens to \`unrecognized\`: ` +
        `${PROBLEMS[problem]}. ${likelyCause(event) ?? ''} \`receiver.on('unrecognized', …)\` gets its bytes. Event ${eventId}.`,
    )
  }

  function sayOnce(event: WebhookEvent): void {
    const { type: eventType, id: eventId } = event
    if (said.has(eventType)) return
    said.add(eventType)
    const cause = likelyCause(event)
    logger.warn(
      { code: 'event_unhandled', eventType, eventId },
      `No handler listens to \`${eventType}\`, so such events are settled as soon as they come. ` +
        `${cause === undefined ? '' : `${cause} `}Attach one with \`receiver.on('${eventType}', …)\` or ` +
        `\`receiver.onAny(…)\`. It is said once for each type. Event ${eventId}.`,
    )
  }

  return {
    get count() {
      return count
    },
    see(event) {
      count += 1
      if (event.type === 'unrecognized') sayUnrecognized(event)
      else sayOnce(event)
    },
  }
}
