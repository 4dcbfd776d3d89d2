/** Names, colours and links of events, messages and sends. */
import type { EventList, EventRow, Outcome, Sent } from '../routes.ts'
import { href } from './data.ts'
import { h, type Child } from './ui.ts'
import * as ui from './ui.ts'

export const OUTCOMES: Readonly<Record<Outcome, readonly [label: string, tone: string]>> = {
  waiting: ['Waiting', 'calm'],
  running: ['Running', 'busy'],
  retrying: ['Retrying', 'warn'],
  settled: ['Handled', 'good'],
  unhandled: ['No handler', 'warn'],
  dead: ['Dead letter', 'bad'],
}

export const SENT: Readonly<Record<Sent['state'], readonly [label: string, tone: string, why: string]>> = {
  waiting: ['Awaited', 'calm', 'No final report yet. The deadline has not passed.'],
  overdue: ['Overdue', 'warn', 'No final report has arrived, and the deadline has passed.'],
  ended: ['Ended', 'calm', 'Its final report arrived.'],
  repeated: ['Sent again', 'calm', 'It failed temporarily and was sent again. No more reports are expected.'],
  refused: ['Refused', 'bad', 'The service refused it in the answer to the send. No report will arrive.'],
  unknown: ['Unknown', 'warn', 'The send got no answer. The message may have been sent.'],
}

/** A badge for a row of `OUTCOMES` or `SENT`. */
export function dot([label, tone]: readonly [label: string, tone: string, ...more: string[]]): Child {
  return ui.badge(label, `dot ${tone}`)
}

/** The class that sets the colour of a type. */
export function toneOf(type = ''): string {
  return /(delivered|read|failed|overdue|unknown|late|unrecognized)$/.exec(type)?.[0] ?? ''
}

/** The store keeps the identity of an event longer than its content. */
export function typeName(type: string | undefined): Child {
  return type === undefined ? ui.quiet('no longer kept') : h`<span class=${`type ${toneOf(type)}`}>${type}</span>`
}

/** Omitted for an event of the type `late`. */
export function lateBadge({ late, type }: EventRow): Child {
  return late && type !== 'late' && ui.badge('late', 'late', 'Older than a report that was dispatched before it')
}

export function hrefOfMessage(messageId: string, project: string | undefined): string {
  return href(['message', messageId], { project })
}

type Named = Readonly<Partial<Record<'messageId' | 'project' | 'about', string | undefined>>>

/** Shows `about` for an event without a message. */
export function messageLink({ messageId, project, about }: Named): Child {
  if (messageId === undefined) return ui.code(about)
  return ui.idText(messageId, 'message id', hrefOfMessage(messageId, project))
}

/** Names the message too, because every store finds the event quickly by it. */
export function eventLink({ id, messageId, project, type }: EventRow): Child {
  return h`<a href=${href(['event', id], { of: messageId, project })} data-item>${typeName(type)}</a>`
}

/** The name of an event in dialogs and buttons. */
export function nameOf({ type, messageId, about, id }: EventRow): string {
  return `${type ?? 'event'} of ${messageId ?? about ?? id}`
}

/** The sender's word and code. */
export function statusOf({ status, statusCode }: EventRow): string | undefined {
  if (statusCode === undefined) return status
  return status === undefined || status === String(statusCode) ? String(statusCode) : `${status} (${statusCode})`
}

export function channelOf({ channel, carrier, network }: EventRow): string {
  return [channel, carrier ?? network].filter((part) => part !== undefined).join(' · ')
}

export function failureLine({ kind, resend, reason, cause }: NonNullable<EventRow['failure']>): Child {
  return h`<p class=${`note ${resend ? 'warn' : 'bad'}`}>
    <strong>Failed, ${kind}: ${resend ? 'send it again.' : 'do not send it again.'}</strong>${' '}
    ${[cause, reason].filter((part) => part !== undefined).join(': ')}
  </p>`
}

export function refusedText({ count }: NonNullable<EventList['refused']>): string {
  return `${ui.several(count, 'refused request names', 'refused requests name')} it`
}

/** `about`: the id of a message, or a recipient. */
export function refusedLink(about: string): Child {
  return ui.linkButton('Show and verify again', ['quarantine'], { q: about })
}
