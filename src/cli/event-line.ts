/** Formats an event as one line. Escapes all external text. */
import type { Clock } from '../runtime/clock.ts'
import type { DeliveryFailure, WebhookEvent } from '../public/events.ts'
import type { Report } from '../messages/event-record.ts'
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

/** A duplicate: answered 204, but not dispatched. */
export function describeDuplicate(event: WebhookEvent, time: string, { dim, yellow }: Colours): string {
  const about = [event.type, ...aboutOf(event)].map(shown)
  return [dim(time), yellow('duplicate'.padEnd(17)), ...about, dim(proofText(event))].join('  ')
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

/**
 * The most informative fields, those of a payment first. The service documents none of them, so without any of these names the
 * whole data is shown.
 */
const TELLING = [
  'id',
  'amount',
  'currency',
  'status',
  'event',
  'phone',
  'from',
  'keyword',
  'text',
  'reference',
] as const

function dataWords(data: unknown): readonly string[] {
  if (typeof data !== 'object' || data === null) return [JSON.stringify(data)]
  const words = new Map<string, string>()
  for (const name of TELLING) {
    const value: unknown = Object.hasOwn(data, name) ? Reflect.get(data, name) : undefined
    if (typeof value === 'string' || typeof value === 'number') words.set(name, String(value))
  }
  if (words.size === 0) return [JSON.stringify(data)]
  const [amount, currency] = [words.get('amount'), words.get('currency')]
  if (amount !== undefined && currency !== undefined) {
    words.set('amount', `${amount} ${currency}`)
    words.delete('currency')
  }
  return [...words.values()]
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
