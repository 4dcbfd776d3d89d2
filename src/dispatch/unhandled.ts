/**
 * Counts events without a handler and logs them with the probable cause, because they are settled and would disappear silently.
 */
import { PROBLEMS, type EventType, type CallbackProblem, type WebhookEvent } from '../public/events.ts'
import type { Logger } from '../runtime/logger.ts'

export function createUnhandled(logger: Logger) {
  const reported = new Set<EventType>()
  let count = 0

  return {
    /** Since the start of this process. */
    get count(): number {
      return count
    },
    /** Counts an event without a handler. Logs every unrecognized one, and the first of each other type. */
    see(event: WebhookEvent): void {
      count += 1
      const { type: eventType, id: eventId } = event
      if (event.type === 'unrecognized') {
        const { kind, problem } = event
        logger.warn(
          { code: 'unrecognized_unhandled', eventId, ...(kind === undefined ? undefined : { kind }), problem },
          `A callback could not be read (${problem}): ${PROBLEMS[problem]}. ${CAUSES[problem]} No handler listens to ` +
            `\`unrecognized\`: attach one with \`receiver.on('unrecognized', …)\` to get its bytes. Event ${eventId}.`,
        )
      } else if (!reported.has(eventType)) {
        reported.add(eventType)
        logger.warn(
          { code: 'event_unhandled', eventType, eventId },
          `No handler listens to \`${eventType}\`, so its events are settled without one. Attach one with ` +
            `\`receiver.on('${eventType}', …)\` or \`receiver.onAny(…)\`. Logged once per type. Event ${eventId}.`,
        )
      }
    },
  }
}

const OTHER_KIND =
  'Another kind of callback may be registered at this URL: mount a middleware for each kind at a URL of its own.'

const CAUSES: Readonly<Record<CallbackProblem, string>> = {
  empty_body: 'A redirect or a proxy may have removed the body.',
  content_encoding: 'A proxy compresses requests: configure it to forward them unchanged.',
  not_json: 'A proxy may have changed it, or the sender uses an undocumented format.',
  double_encoded:
    'A component in front of the receiver wrapped the body in a JSON string: configure it to forward the bytes unchanged.',
  not_an_object: 'A proxy may have changed it, or the sender uses an undocumented format.',
  too_deep: 'No documented callback is nested so deeply.',
  too_many_values: 'No documented callback has so many values.',
  no_message_id: OTHER_KIND,
  no_status: OTHER_KIND,
  unknown_status:
    'The sender uses an undocumented word or code, or `networks` assigns its network to the wrong carrier.',
  several_statuses: 'The sender reports several states at once, which is undocumented.',
  unknown_shape: 'Name the kind of callbacks at this URL, for example with `receiver.middleware("payment")`.',
  store_refused: 'The store cannot hold a value of the payload: check its strings and numbers.',
  damaged: 'Check the disk of the store, and other programs that write to it.',
  schema_refused: 'Compare the payload with your schema: the contract does not show its fields.',
  schema_failed: 'Fix the schema: it threw or took too long.',
}
