/** Reads events of a store, and formats events: one as a line, or in full. Escapes all external text. */
import { createDeadLetters } from '../dispatch/dead-letters.ts'
import { refusedIn } from '../inbox/spool.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import { inLocalFile } from './local-file.ts'
import { createEvents, type ListedEvent } from '../dispatch/listed-events.ts'
import { revive, type Kept, type ReviveOptions } from '../dispatch/revive.ts'
import type { MessageStore } from '../inbox/store.ts'
import { messageKey } from '../messages/order.ts'
import type { WebhookEvent, DeliveryFailure } from '../public/events.ts'
import { systemClock } from '../runtime/clock.ts'
import { count, shown, timeOfDay, type Terminal, type Colours } from './terminal.ts'
import type { Report } from '../messages/event-record.ts'
import { isRecord } from '../runtime/values.ts'

/** Shorter delays are not printed. */
const HELD_MS = 100

/** Time, type, subject and proof. */
export function describeEvent(event: WebhookEvent, nowMs: number, colours: Colours): string {
  const { dim, yellow } = colours
  const receivedAtMs = event.receivedAt.getTime()
  return [
    dim(timeOfDay(nowMs)),
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
function aboutOf(event: WebhookEvent): readonly string[] {
  const project = event.project === undefined ? '' : `[${event.project}]`
  return [...wordsOf(event), project].filter((part) => part !== '')
}

/** Message id, network or channel, and status or code. */
function reportWords({ messageId, network, channel, status, statusCode }: Report): readonly string[] {
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
const MAX_FIELDS = 6

function dataWords(data: unknown): readonly string[] {
  // The project ends the line.
  const { project: _, ...fields } = isRecord(data) ? data : { data }
  const values = Object.values(fields)
  const plain = values.filter((value) => typeof value === 'string' || typeof value === 'number')
  return plain.length === 0 ? [JSON.stringify(data)] : plain.slice(0, MAX_FIELDS).map(String)
}

function proofText({ proof }: WebhookEvent): string {
  return proof === 'none' ? 'no proof' : `proved by ${proof === 'both' ? 'signature and authKey' : proof}`
}

/** The app's schemas and `subscriptionType` are unknown here. */
const REVIVING: ReviveOptions = {
  clock: systemClock(),
  schemas: {},
  subscriptionType: undefined,
  schemaTimeoutMs: 1_000,
}

/** `receiver.events` and `receiver.deadLetters` without a receiver. `spool` is its folder. */
export function keptIn(store: MessageStore<object>, spool?: string, report = (_: MessagingWebhooksError): void => {}) {
  const reading = { open: () => store, revive: (kept: Kept) => revive(kept, REVIVING) }
  return {
    events: createEvents({
      ...reading,
      reviving: REVIVING,
      keyOf: (messageId, project) => messageKey(project, messageId),
    }),
    deadLetters: createDeadLetters({
      ...reading,
      wake() {},
      refused: (limit) =>
        inLocalFile({ folder: spool, option: '--spool', report }, [], (file) => refusedIn(file, limit)),
    }),
  }
}

/** The subject of an event, even if its payload is no longer stored. */
export function subjectOf({ event, report, project }: ListedEvent): readonly string[] {
  if (event !== undefined) return aboutOf(event)
  return [...(report === undefined ? [] : reportWords(report)), ...(project === undefined ? [] : [`[${project}]`])]
}

/** The state in a few words: “dead after 5 attempts”, “due again at …, after 1 attempt”. */
export function standingOf({ state, attempts, dueAt, endedAt, late }: ListedEvent, nowMs: number): string {
  const times = attempts === undefined ? '' : count(attempts, 'attempt')
  const afterTimes = times && `, after ${times}`
  const words = {
    due: () => (attempts === 0 ? `due${at(dueAt)}` : `due again${at(dueAt)}${afterTimes}`),
    leased: () =>
      dueAt !== undefined && dueAt.getTime() < nowMs
        ? `lease expired${at(dueAt)}, not settled${afterTimes}`
        : `leased until${at(dueAt)}${times && `, for attempt ${attempts ?? ''}`}`,
    settled: () => `settled${at(endedAt)}${attempts === 0 ? ', without a handler' : afterTimes}`,
    dead: () => `dead${at(endedAt)}${afterTimes}`,
  }[state]()
  return late === true ? `late, ${words}` : words
}

function at(time: Date | undefined): string {
  return time === undefined ? '' : ` ${time.toISOString()}`
}

/** Prints a page of a list: its items as rows or as JSON, and how to get the next one. */
export function printPage<T extends object>(
  { items, next }: { readonly items: readonly T[]; readonly next?: string | undefined },
  json: boolean,
  printRows: (items: readonly T[]) => void,
  what: string,
  { printJson, note }: Terminal,
): void {
  if (json) for (const item of items) printJson(item)
  else printRows(items)
  if (items.length === 0) note(`There are no ${what}.`)
  if (next !== undefined) note(`For more, pass --after ${next}`)
}

/** Prints one event in full: its fields in two columns, its payload and its error. */
export function printDetails(
  fields: Readonly<Record<string, string | undefined>>,
  { event, error }: Pick<ListedEvent, 'event' | 'error'>,
  { print, printRows, colours: { bold } }: Terminal,
): void {
  const known = event && {
    project: event.project,
    happened: event.occurredAt?.toISOString() ?? 'unknown',
    received: `${event.receivedAt.toISOString()}, proved by ${event.proof}`,
  }
  const rows = Object.entries({ ...fields, ...known }).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[bold(name), shown(value)]],
  )
  printRows(rows)
  const parts = { payload: event && JSON.stringify(event.payload ?? null, undefined, 2), error }
  for (const [title, text] of Object.entries(parts)) {
    if (text === undefined) continue
    print(bold(title))
    for (const line of text.split('\n')) print(`  ${shown(line)}`)
  }
}
