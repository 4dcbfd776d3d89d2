/** The timeline of a message and the details of one event. */
import type { VNode } from 'preact'
import type { Attempt, EventDetail, MessageDetail, Sent, TimelineEntry } from '../shapes.ts'
import { queryOf, useAsked } from './data.ts'
import { decisionsOf } from './deciding.ts'
import { h, type Child, type View } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

export function MessageView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const path = `api/messages/${encodeURIComponent(id)}${queryOf({ project: query['project'] })}`
  const asked = useAsked<MessageDetail>(path, view.changes)
  return h`${ui.heading(['Message ', ui.idText(id, 'message id')])}${ui.answered(asked, (message) => [
    about(message),
    message.order !== undefined && h`<p class="quiet">${message.order}</p>`,
    h`<ol class="timeline" aria-label="Reports in order">
      ${message.sent && sending(message.sent)}${message.entries.map((each, index) => entry(each, index + 1, view))}
    </ol>`,
  ])}`
}

function about({ project, recipient, latest, finals, sent, entries }: MessageDetail): Child {
  const reports = entries.filter(({ event }) => event.type !== 'send.overdue').length
  const status = [latest?.status, latest?.statusCode].filter((part) => part !== undefined).join(' · ')
  const none = sent?.state === 'refused' ? 'It was not sent.' : 'No report of it has come yet.'
  return h`<section class="panel" aria-label="Latest state">
    ${latest !== undefined && h`<p class="latest">${labels.typeName(latest.type)}${ui.quiet(status)}</p>`}
    ${reports === 0 && h`<p class="latest">${ui.quiet(none)}</p>`}
    ${latest?.failure && labels.failureLine(latest.failure)}
    ${ui.facts([
      ['Recipient', ui.code(recipient)],
      ['Project', project],
      ['As of', ui.time(latest?.occurredAt, true)],
      ['Reports', reports > 0 && ui.several(reports, 'report')],
      ['Final reports', finals > 1 && `${finals}: the carrier named more than one end`],
    ])}
  </section>`
}

function entry({ event, arrival, duplicatesAt, gap, why, attempts }: TimelineEntry, place: number, view: View): Child {
  const { occurredAt = '', receivedAt = '' } = event
  const skewMs = Math.round((Date.parse(receivedAt) - Date.parse(occurredAt)) / 1_000) * 1_000
  return h`<li key=${event.id} class=${event.late ? 'late' : labels.toneOf(event.type)}>
    <h2>${labels.eventLink(event)}${ui.quiet(labels.statusOf(event))}${labels.lateBadge(event)}
      ${duplicatesAt.length > 0 && ui.badge(`came ${duplicatesAt.length + 1} times`, 'duplicate')}
      ${labels.outcomeBadge(event.outcome)}<span class="do">${decisionsOf(view, event)}</span></h2>
    ${why !== undefined && h`<p class="why">${ui.prose(why)}</p>`}
    ${ui.facts([
      ['Occurred', ui.time(event.occurredAt)],
      [
        'Received',
        [
          ui.time(event.receivedAt),
          Math.abs(skewMs) > 0 && ui.quiet(` ${ui.duration(Math.abs(skewMs))} ${skewMs > 0 ? 'later' : 'earlier'}`),
        ],
      ],
      ['Place', place !== arrival && `${place} in order, ${arrival} by arrival`],
      ['Proof', event.proof],
      ['Via', labels.via(event)],
      [
        'Reorder wait',
        gap &&
          `${ui.duration(gap.waitedForMs)} for ${gap.missing}, which ${gap.filled ? 'came' : 'did not come in time'}`,
      ],
      ['Duplicates', duplicatesAt.length > 0 && duplicatesAt.map((at, index) => [index > 0 && ', ', ui.time(at)])],
    ])}
    ${attemptList(attempts)}
  </li>`
}

/** What the app recorded of the send. Reports contain little of it. */
function sending(sent: Sent): Child {
  const { state, wasOverdue, sentAt, to, reference, resendOf, project, meta } = sent
  return h`<li key="sent">
    <h2><span class="type">sent by you</span>${ui.quiet(sent.refused)}${labels.sentBadge(state)}</h2>
    <p class="why">${labels.SENT[state][2]}</p>
    ${ui.facts([
      ['Sent', ui.time(sentAt, true)],
      ['To', ui.code(to)],
      ['Channel', sent.channel],
      ['Type', sent.type],
      ['Campaign', sent.campaign],
      ['Reference', ui.code(reference)],
      ['Resend of', resendOf && ui.code(resendOf, labels.hrefOfMessage(resendOf, project))],
      ['Scheduled for', ui.time(sent.scheduledFor)],
      ['Not after', ui.time(sent.notAfter)],
      [wasOverdue ? 'Was overdue' : 'Overdue', (wasOverdue || state === 'waiting') && ui.time(sent.overdueAt, true)],
    ])}
    ${meta !== undefined && h`<details open><summary>Your data</summary>${ui.long('Your data', meta)}</details>`}
  </li>`
}

const ATTEMPTS: Readonly<Record<Attempt['outcome'], readonly [label: string, tone: string]>> = {
  running: ['running', 'busy'],
  succeeded: ['succeeded', 'good'],
  failed: ['failed', 'bad'],
  lost: ['lost with its process', 'warn'],
  settled: ['completed by another process', 'calm'],
}

/** Each attempt with its handlers. An error identical to the previous one is not repeated. */
function attemptList(rows: readonly Attempt[]): Child {
  if (rows.length === 0) return undefined
  const firstWith = new Map<string, number>()
  const errorOf = (error: string | undefined, number: number): Child => {
    if (error === undefined) return undefined
    const first = firstWith.get(error) ?? number
    firstWith.set(error, first)
    return first === number ? ui.errorText(error) : h`<div class="error">Same error as in attempt ${first}.</div>`
  }
  return h`<ol class="attempts" aria-label="Attempts">${rows.map(
    ({ number, startedAt, durationMs, outcome, replay, error, handlers }) => {
      const [label, tone] = ATTEMPTS[outcome]
      const isToldByHandler = handlers.some((handler) => handler.error !== undefined)
      return h`<li>
      Attempt ${number}${' '}${ui.badge(label, `dot ${tone}`)}${replay === true && ui.badge('replay', 'calm')}
      ${ui.quiet(startedAt !== undefined && [' ', ui.time(startedAt)], durationMs !== undefined && `, ${ui.duration(durationMs)}`)}
      ${!isToldByHandler && errorOf(error, number)}
      ${
        handlers.length > 0 &&
        h`<ul>${handlers.map(
          (
            handler,
          ) => h`<li><code>${handler.name}</code>${' '}${ui.badge(handler.outcome, handler.outcome === 'succeeded' ? 'dot good' : 'dot bad')}
            ${ui.quiet(` ${ui.duration(handler.durationMs)}`)}${errorOf(handler.error, number)}</li>`,
        )}</ul>`
      }
    </li>`
    },
  )}</ol>`
}

export function EventView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const path = `api/events/${encodeURIComponent(id)}`
  const named = queryOf({ of: query['of'], project: query['project'] })
  const asked = useAsked<EventDetail>(path + named, view.changes)
  return h`${ui.heading('Event')}${ui.answered(asked, (detail) => whole(detail, `${path}/raw${named}`, view))}`
}

function whole(detail: EventDetail, rawPath: string, view: View): Child {
  const { event, problem, failure, oddities, payload, bytes, curl } = detail
  return [
    h`<section class="panel" aria-label="Event">
      <p class="latest">${labels.typeName(event.type)}${ui.quiet(labels.statusOf(event))}${labels.lateBadge(event)}${labels.outcomeBadge(event.outcome)}
        <span class="do">${decisionsOf(view, event)}</span></p>
      ${failure && labels.failureLine(failure)}
      ${event.outcome === 'dead' && h`<p>Fix this error; the log has the stack. Then replay the event.</p>`}
      ${problem !== undefined && h`<p class="note warn">It could not be read: ${problem}</p>`}
      ${ui.facts([
        ['Message', event.messageId && labels.messageLink(event)],
        ['Identified by', ui.code(event.about)],
        ['Recipient', ui.code(event.recipient)],
        ['Project', event.project],
        ['Via', labels.via(event)],
        ['Network', event.carrier === undefined ? undefined : event.network],
        ['Kind of callback', event.kind],
        ['Proof', event.proof],
        ['Occurred', ui.time(event.occurredAt)],
        ['Received', ui.time(event.receivedAt, true)],
        ['Admitted', ui.time(event.admittedAt)],
        [event.outcome === 'running' ? 'Leased until' : 'Due', ui.time(event.dueAt, true)],
        ['Completed', ui.time(event.endedAt)],
        ['Oddities', oddities.length > 0 && oddities.join(', ')],
        ['Id', ui.idText(event.id, 'event id')],
      ])}
    </section>`,
    detail.attempts.length > 0 && ui.panel('Attempts', attemptList(detail.attempts)),
    h`<section class="panel" aria-label="Payload">
      <div class="between"><h2>Payload</h2>${bytes !== undefined && ui.quiet(ui.bytes(bytes))}
        ${bytes !== undefined && view.session.may.reveal && h`<a href=${rawPath} download>Download it</a>`}
        ${curl !== undefined && h`<span>Request as curl ${ui.copyButton(curl, 'the request as curl')}</span>`}</div>
      ${payload === undefined ? ui.quiet('No payload is kept, or it is not JSON.') : ui.long('Payload', payload)}
    </section>`,
  ]
}
