/** Formats an event as one line. Escapes all external text. */
import type { Clock } from '../runtime/clock.ts'
import type { DeliveryFailure, WebhookEvent } from '../public/events.ts'
import type { Report } from '../messages/event-record.ts'
import { isRecord } from '../runtime/values.ts'
import { shown, type Colours } from './terminal.ts'

/** The time of the line, and the current time. */
interface Line {
  readonly time: string
  readonly nowMs: number
}

/** Shorter delays are not printed. */
const HELD_MS = 100

/** Time, type, subject and proof. */
export function describeEvent(event: WebhookEvent, { time, nowMs }: Line, colours: Colours): string {
  const { dim, yellow } = colours
  const receivedAtMs = event.receivedAt.getTime()
  return [
    dim(time),
    typeColour(event.type, colours)(event.type.padEnd(17)),
    ...aboutOf(event).map(shown),
    dim(proofText(event)),
    ...(nowMs - receivedAtMs >= HELD_MS ? [yellow(`arrived at ${timeOfDay(receivedAtMs)}, held until now`)] : []),
  ].join('  ')
}

/** Types that deserve attention but are not failures. */
const YELLOW: ReadonlySet<WebhookEvent['type']> = new Set(['unrecognized', 'late', 'send.overdue', 'send.unknown'])

function typeColour(type: WebhookEvent['type'], { green, red, yellow, cyan }: Colours): (text: string) => string {
  if (type === 'message.failed') return red
  if (YELLOW.has(type)) return yellow
  return type === 'message.delivered' || type === 'message.read' ? green : cyan
}

/** The subject in a few words, ending with the project. */
export function aboutOf(event: WebhookEvent): readonly string[] {
  const project = event.project === undefined ? '' : `[${event.project}]`
  return [...wordsOf(event), project].filter((part) => part !== '')
}

/** Message id, network or channel, and status or code. */
export function reportWords({ messageId, network, channel, status, statusCode }: Report): readonly string[] {
  const code = statusCode === undefined ? undefined : `code ${statusCode}`
  return [messageId, network ?? channel, status ?? code].filter((word) => word !== undefined)
}

export function failureWords({ kind, resend }: Pick<DeliveryFailure, 'kind' | 'resend'>): string {
  return `${kind}, ${resend ? 'send again' : 'do not send again'}`
}

function wordsOf(event: WebhookEvent): readonly string[] {
  switch (event.type) {
    case 'message.queued':
    case 'message.sent':
    case 'message.delivered':
    case 'message.read':
      return reportWords(event)
    case 'message.failed':
      return [...reportWords(event), failureWords(event.failure), event.failure.reason ?? '']
    case 'send.overdue':
      return [event.messageId, event.channel ?? '', 'no final report']
    case 'send.unknown':
      return [event.reference, event.channel ?? '', 'may have been sent']
    case 'late':
      return [...wordsOf(event.report), `${event.report.type} arrived late`]
    case 'unrecognized':
      return [event.problem]
    default:
      return dataWords(event.data)
  }
}

/** Maximum number of fields shown of an event whose fields the service does not document. */
const MOST_FIELDS = 6

function dataWords(data: unknown): readonly string[] {
  // The project ends the line.
  const { project: _, ...fields } = isRecord(data) ? data : { data }
  const values = Object.values(fields)
  const plain = values.filter((value) => typeof value === 'string' || typeof value === 'number')
  return plain.length === 0 ? [JSON.stringify(data)] : plain.slice(0, MOST_FIELDS).map(String)
}

function proofText({ proof }: WebhookEvent): string {
  return proof === 'none' ? 'no proof' : `proved by ${proof === 'both' ? 'signature and authKey' : proof}`
}

/** Returns the time of day in UTC for the next line. It never decreases, even if the machine's clock does. */
export function createLineTime(clock: Clock): () => string {
  let latestMs = 0
  return () => {
    latestMs = Math.max(latestMs, clock.now())
    return timeOfDay(latestMs)
  }
}

function timeOfDay(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23)
}
