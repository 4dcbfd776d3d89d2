/** One event in one line. */
import type { WebhookEvent } from '../events.ts'
import { shown, type Colours } from './terminal.ts'

/** The time of its arrival, its type, what it is about, how it was proved. Everything from outside is made harmless. */
export function describeEvent(event: WebhookEvent, colours: Colours): string {
  const { green, red, yellow, cyan, dim } = colours
  const time = event.receivedAt.toISOString().slice(11, 23)
  const colour =
    event.type === 'message.failed'
      ? red
      : event.type === 'unrecognized' || event.type === 'late'
        ? yellow
        : event.type === 'message.delivered' || event.type === 'message.read'
          ? green
          : cyan
  const about = aboutOf(event).filter((part) => part !== '')
  return [dim(time), colour(event.type.padEnd(17)), ...about.map(shown), dim(`proved by ${proofOf(event)}`)].join('  ')
}

function aboutOf(event: WebhookEvent): readonly string[] {
  const project = event.project === undefined ? '' : `[${event.project}]`
  switch (event.type) {
    case 'message.queued':
    case 'message.sent':
    case 'message.delivered':
    case 'message.read':
      return [event.messageId, event.network ?? event.channel, event.status, project]
    case 'message.failed': {
      const { kind, resend, reason } = event.failure
      const what = `${kind}, ${resend ? 'send again' : 'do not send again'}`
      return [event.messageId, event.network ?? event.channel, event.status, what, reason ?? '', project]
    }
    case 'late':
      return [event.late.messageId, `${event.late.type} came too late`, project]
    case 'unrecognized':
      return [event.problem, project]
    default:
      return [JSON.stringify(event.data), project]
  }
}

function proofOf({ proof }: WebhookEvent): string {
  return proof === 'both' ? 'signature and authKey' : proof
}
