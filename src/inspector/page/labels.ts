/** What an event, a message and a send are called, which colour they have, and where they lead. */
import type { EventDetail, EventRow, Outcome, SentDetail } from '../shapes.ts'
import { href } from './data.ts'
import { h, type Child } from './ui.ts'
import * as ui from './ui.ts'

export const OUTCOMES: Readonly<Record<Outcome, readonly [label: string, tone: string]>> = {
  waiting: ['Waiting', 'calm'],
  running: ['Running', 'busy'],
  retrying: ['Retrying', 'warn'],
  settled: ['Handled', 'good'],
  dead: ['Dead letter', 'bad'],
}

export function outcomeBadge(outcome: Outcome): Child {
  const [label, tone] = OUTCOMES[outcome]
  return ui.badge(label, `dot ${tone}`)
}

const SENT: Readonly<Record<SentDetail['state'], readonly [label: string, tone: string]>> = {
  waiting: ['Awaited', 'calm'],
  overdue: ['Overdue', 'warn'],
  ended: ['Ended', 'calm'],
  repeated: ['Sent again', 'calm'],
  refused: ['Refused', 'bad'],
  unknown: ['Unknown', 'warn'],
}

export function sentBadge(state: SentDetail['state']): Child {
  const [label, tone] = SENT[state]
  return ui.badge(label, `dot ${tone}`)
}

/** What colours go by. */
export function toneOf(type = ''): string {
  return /(delivered|read|failed|overdue|unknown|late|unrecognized)$/.exec(type)?.[0] ?? ''
}

/** A store erases what an event was before it erases that it came. */
export function typeName(type: string | undefined): Child {
  return type === undefined ? ui.quiet('no longer kept') : h`<span class=${`type ${toneOf(type)}`}>${type}</span>`
}

/** An event of the type `late` says so itself. */
export function lateBadge({ late, type }: EventRow): Child {
  return late && type !== 'late' && ui.badge('late', 'late', 'Older than a report that was dispatched before it')
}

export function hrefOfMessage(messageId: string, project: string | undefined): string {
  return href(['message', messageId], { project })
}

/** Of an event without a message: what it is known by. */
export function messageLink({ messageId, project, about }: Pick<EventRow, 'messageId' | 'project' | 'about'>): Child {
  if (messageId === undefined) return ui.code(about)
  return ui.idText(messageId, 'message id', hrefOfMessage(messageId, project))
}

/** With its message, by which every store finds it at once. */
export function eventLink({ id, messageId, project }: EventRow, text: Child): Child {
  return h`<a href=${href(['event', id], { of: messageId, project })} data-item>${text}</a>`
}

/** As the dialogs and buttons name it. */
export function nameOf({ type, messageId, about, id }: EventRow): string {
  return `${type ?? 'event'} of ${messageId ?? about ?? id}`
}

/** The sender's word and code. */
export function statusOf({ status, statusCode }: EventRow): string | undefined {
  if (statusCode === undefined) return status
  return status === undefined || status === String(statusCode) ? String(statusCode) : `${status} (${statusCode})`
}

export function via({ channel, carrier, network }: EventRow): string {
  return [channel, carrier ?? network].filter((part) => part !== undefined).join(' · ')
}

export function failureLine({ kind, resend, reason, cause }: NonNullable<EventDetail['failure']>): Child {
  return h`<p class=${`note ${resend ? 'warn' : 'bad'}`}>
    <strong>Failed, ${kind}: ${resend ? 'send it again.' : 'do not send it again.'}</strong>${' '}
    ${[cause, reason].filter((part) => part !== undefined).join(': ')}
  </p>`
}
