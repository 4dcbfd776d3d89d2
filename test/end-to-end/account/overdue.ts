/** Each message becomes overdue once and for a reason. */
import type { OverdueEvent } from 'messaging-webhooks'
import type { Balanced } from './balance.ts'
import { TIMEOUT, WITHIN_MS } from './sending.ts'

/** Problems as text, if any. */
export function wrongIn(messages: readonly Balanced[], overdue: readonly OverdueEvent[]): readonly string[] {
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
      if (isAwaited && ends.length === 0) wrong.push(`${messageId} has no end, and was not overdue`)
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
