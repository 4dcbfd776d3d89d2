/** One message and one event of it: in which order reports came and why, how each was proved, and what the handlers did with it. */
import type { VNode } from 'preact'
import type { AttemptRow, EventDetail, MessageDetail, SentDetail, TimelineEntry } from '../shapes.ts'
import { queryOf, useAsked, type News } from './data.ts'
import { decisionsOf } from './deciding.ts'
import { h, type Child, type View } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

const STALE_MS = 1_000

export function MessageView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const { project, order } = query
  const isStale = ({ messages, many }: News): number | undefined =>
    many || messages.includes(id) ? STALE_MS : undefined
  const asked = useAsked<MessageDetail>(`api/messages/${encodeURIComponent(id)}${queryOf({ project })}`, isStale)
  return h`${ui.heading(['Message ', ui.idText(id, 'message id')])}${ui.answered(asked, (message) => [
    about(message, view),
    message.entries.length > 1 &&
      h`<nav class="choice" aria-label="Order">
        ${ui.linkButton('In order', ['message', id], { project }, order !== 'arrival')}
        ${ui.linkButton('By arrival', ['message', id], { project, order: 'arrival' }, order === 'arrival')}
      </nav>`,
    message.order !== undefined && h`<p class="quiet">${message.order}</p>`,
    timeline(message, order === 'arrival', view),
  ])}`
}

function about({ project, recipient, latest, finals, sent, entries }: MessageDetail, view: View): Child {
  const reports = entries.filter(({ event }) => event.type !== 'send.overdue').length
  const status = [latest?.status, latest?.statusCode].filter((part) => part !== undefined).join(' · ')
  const none = sent?.state === 'refused' ? 'It was not sent.' : 'No report of it has come yet.'
  return h`<section class="panel" aria-label="Latest state">
    ${latest !== undefined && h`<p class="latest">${labels.typeName(latest.type)}${ui.quiet(status)}</p>`}
    ${reports === 0 && h`<p class="latest">${ui.quiet(none)}</p>`}
    ${latest?.failure && labels.failureLine(latest.failure)}
    ${ui.facts([
      ['Recipient', ui.recipientOf(recipient, view)],
      ['Project', project],
      ['As of', ui.time(latest?.occurredAt, true)],
      ['Reports', reports > 0 && ui.several(reports, 'report')],
      ['Final reports', finals > 1 && `${finals}: the carrier named more than one end`],
    ])}
  </section>`
}

function timeline({ entries, sent, project }: MessageDetail, byArrival: boolean, view: View): Child {
  if (entries.length === 0 && sent === undefined)
    return ui.empty(
      'Nothing is known of this message.',
      'Its reports may not have come yet, or their retention is over.',
      h`Refused reports are in <a href="#/quarantine">quarantine</a>.`,
    )
  const sorted = entries.toSorted((a, b) => (byArrival ? a.arrival - b.arrival : a.place - b.place))
  return h`<ol class="timeline" aria-label=${byArrival ? 'Reports by arrival' : 'Reports in order'}>
    ${sent && sending(sent, project)}${sorted.map((row) => entry(row, view))}
  </ol>`
}

function entry(
  { event, place, arrival, skewSeconds, duplicatesAt, gap, why, attempts }: TimelineEntry,
  view: View,
): Child {
  return h`<li key=${event.id} class=${event.late ? 'late' : labels.toneOf(event.type)}>
    <h2>${labels.eventLink(event, labels.typeName(event.type))}${ui.quiet(labels.statusOf(event))}${labels.lateBadge(event)}
      ${duplicatesAt.length > 0 && ui.badge(`came ${duplicatesAt.length + 1} times`, 'duplicate')}
      ${labels.outcomeBadge(event.outcome)}<span class="do">${decisionsOf(view, event)}</span></h2>
    ${why !== undefined && h`<p class="why">${ui.prose(why)}</p>`}
    ${ui.facts([
      ['Occurred', ui.time(event.occurredAt)],
      [
        'Received',
        [
          ui.time(event.receivedAt),
          skewSeconds !== undefined && skewSeconds !== 0 && ui.quiet(` ${skew(skewSeconds)}`),
        ],
      ],
      ['Place', place !== arrival && `${ordinal(place)} in order, ${ordinal(arrival)} to arrive`],
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

/** What the app recorded of the send; reports name little of it. */
function sending(sent: SentDetail, project: string | undefined): Child {
  const { state, wasOverdue, sentAt, to, reference, resendOf, meta } = sent
  return h`<li key="sent">
    <h2><span class="type">sent by you</span>${ui.quiet(sent.refused)}${labels.sentBadge(state)}</h2>
    <p class="why">${sent.why}</p>
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

const ATTEMPTS: Readonly<Record<AttemptRow['outcome'], readonly [label: string, tone: string]>> = {
  running: ['running', 'busy'],
  succeeded: ['succeeded', 'good'],
  failed: ['failed', 'bad'],
  lost: ['lost with its process', 'warn'],
  settled: ['completed by another process', 'calm'],
}

const HANDLER_TONES = { succeeded: 'good', failed: 'bad', 'timed out': 'bad', running: 'busy' } as const

/** Each attempt with each handler in it; an error that stood before is not repeated. */
function attemptList(rows: readonly AttemptRow[]): Child {
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
          ) => h`<li><code>${handler.name}</code>${' '}${ui.badge(handler.outcome, `dot ${HANDLER_TONES[handler.outcome]}`)}
            ${handler.durationMs !== undefined && ui.quiet(` ${ui.duration(handler.durationMs)}`)}${errorOf(handler.error, number)}</li>`,
        )}</ul>`
      }
    </li>`
    },
  )}</ol>`
}

function skew(seconds: number): string {
  return `${ui.duration(Math.abs(seconds) * 1_000)} ${seconds > 0 ? 'later' : 'earlier'}`
}

function ordinal(number: number): string {
  const tens = number % 100
  const suffix = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th')
  return `${number}${suffix}`
}

export function EventView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const path = `api/events/${encodeURIComponent(id)}`
  const named = queryOf({ of: query['of'], project: query['project'] })
  const isStale = ({ events, many }: News): number | undefined => (many || events.includes(id) ? STALE_MS : undefined)
  const asked = useAsked<EventDetail>(path + named, isStale)
  return h`${ui.heading('Event')}${ui.answered(asked, (detail) => whole(detail, `${path}/raw${named}`, view))}`
}

function whole(detail: EventDetail, rawPath: string, view: View): Child {
  const { event, problem, failure, oddities, payload, raw, curl } = detail
  const { reveal } = view.session.may
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
        ['Recipient', ui.recipientOf(event.recipient, view)],
        ['Project', event.project],
        ['Via', labels.via(event)],
        ['Network', event.carrier === undefined ? undefined : event.network],
        ['Kind of callback', event.kind],
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
    ui.panel('Proof', steps(detail.proofSteps)),
    h`<section class="panel" aria-label="Payload">
      <div class="between"><h2>Payload</h2>${curl !== undefined && h`<span>Request as curl ${ui.copyButton(curl, 'the request as curl')}</span>`}</div>
      ${payload === undefined ? ui.quiet('No payload is kept, or it is no JSON.') : ui.long('Payload', payload)}
    </section>`,
    raw && ui.panel('Raw body', rawBody(raw, reveal ? rawPath : undefined)),
  ]
}

const MARKS = {
  held: ['✓', 'good', 'held'],
  absent: ['–', 'calm', 'absent'],
  unknown: ['?', 'calm', 'not known'],
} as const

function steps(rows: EventDetail['proofSteps']): Child {
  if (rows.length === 0) return ui.quiet('Nothing is kept of how it was proved.')
  return h`<ol class="steps">${rows.map(({ what, outcome, detail }) => {
    const [mark, tone, label] = MARKS[outcome]
    return h`<li><span class=${`mark ${tone}`} aria-hidden="true">${mark}</span>
      <span><strong>${what}</strong><span class="unseen">: ${label}</span> ${ui.quiet(ui.prose(detail))}</span></li>`
  })}</ol>`
}

function rawBody({ text, isCut, bytes: size }: NonNullable<EventDetail['raw']>, download: string | undefined): Child {
  return [
    h`<p class="quiet">${ui.bytes(size)}${isCut && ', cut here'}. ${text === undefined ? 'Masked for you.' : 'The authKey is masked.'}</p>`,
    text !== undefined && ui.long('Raw body', text),
    download !== undefined && h`<p><a class="button" href=${download} download>Download it</a></p>`,
  ]
}
