/** Each message becomes overdue once and for a reason, and its later reports say so. */
import type { Receiver, ReportEvent } from 'messaging-webhooks'
import type { OverdueEvent, UnknownSendEvent } from '../../../src/public/events.ts'
import type { Balanced } from './balance.ts'
import { TIMEOUT, WITHIN_MS } from './sending.ts'

/** What handlers received: reports, including late ones, overdue messages, and sends with an unknown result. */
interface Handled {
  readonly reports: readonly { readonly report: ReportEvent; readonly atMs: number }[]
  readonly overdue: readonly OverdueEvent[]
  readonly unknown: readonly UnknownSendEvent[]
}

export function remember(receiver: Pick<Receiver, 'on'>): Handled {
  const reports: { readonly report: ReportEvent; readonly atMs: number }[] = []
  const overdue: OverdueEvent[] = []
  const unknown: UnknownSendEvent[] = []
  receiver.on('message.*', (report) => void reports.push({ report, atMs: Date.now() }))
  receiver.on('late', ({ report }) => void reports.push({ report, atMs: Date.now() }))
  receiver.on('send.overdue', (event) => void overdue.push(event))
  receiver.on('send.unknown', (event) => void unknown.push(event))
  return { reports, overdue, unknown }
}

/** Problems as text, if any. A repeated message awaits nothing more. */
export function wrongIn(
  messages: readonly Balanced[],
  handled: Handled,
  repetitions: ReadonlyMap<string, string>,
): readonly string[] {
  return [...wrongEvents(messages, handled, repetitions), ...wrongReports(messages, handled)]
}

function wrongEvents(
  messages: readonly Balanced[],
  { overdue }: Handled,
  repetitions: ReadonlyMap<string, string>,
): readonly string[] {
  const wrong: string[] = []
  const events = new Map<string, OverdueEvent>()
  for (const event of overdue) {
    if (events.has(event.messageId)) wrong.push(`${event.messageId} was overdue twice`)
    events.set(event.messageId, event)
  }
  for (const { messageId, to, refused, isUnreported, ends } of messages) {
    const event = events.get(messageId)
    events.delete(messageId)
    const isAwaited = refused === undefined && !isUnreported && !to.startsWith(TIMEOUT)
    if (event === undefined) {
      if (isAwaited && ends.length === 0 && !repetitions.has(messageId))
        wrong.push(`${messageId} has no end, and was not overdue`)
      continue
    }
    const { sent, receivedAt } = event
    const fromMs = Math.max(sent.sentAt.getTime(), sent.scheduledFor?.getTime() ?? 0)
    if (!isAwaited) wrong.push(`${messageId} was overdue, and not awaited`)
    if (sent.overdueAt.getTime() !== fromMs + WITHIN_MS) wrong.push(`${messageId} was awaited for another time`)
    if (receivedAt < sent.overdueAt) wrong.push(`${messageId} was overdue too early`)
    if (ends.some(({ acceptedAtMs }) => acceptedAtMs < receivedAt.getTime()))
      wrong.push(`${messageId} was overdue after its end`)
  }
  return [...wrong, ...[...events.keys()].map((messageId) => `${messageId} was overdue unexpectedly`)]
}

function wrongReports(messages: readonly Balanced[], { reports, overdue }: Handled): readonly string[] {
  const wrong: string[] = []
  const known = new Map(messages.map(({ messageId, to }) => [messageId, to]))
  const overdueMs = new Map(overdue.map(({ messageId, receivedAt }) => [messageId, receivedAt.getTime()]))
  for (const { report, atMs } of reports) {
    const { type, messageId, sent, wasOverdue = false } = report
    const sinceMs = overdueMs.get(messageId)
    const name = `${type} of ${messageId}`
    if (sent?.to !== known.get(messageId)) wrong.push(`${name} does not say to whom it was sent`)
    if (wasOverdue && (sinceMs === undefined || atMs < sinceMs)) wrong.push(`${name} says that it was overdue`)
    // A final state that had arrived before would have prevented it.
    if (!wasOverdue && sinceMs !== undefined && isEnd(report)) wrong.push(`${name} does not say that it was overdue`)
  }
  return wrong
}

function isEnd(report: ReportEvent): boolean {
  if (report.type === 'message.failed') return report.failure.kind !== 'transient'
  return report.type === 'message.delivered' || report.type === 'message.read'
}
