/** One message and one event of it: in which order reports came and why, how each was proved, and what the handlers did with it. */
import type { VNode } from 'preact'
import type { AttemptRow, EventDetail, MessageDetail, SentDetail, TimelineEntry } from '../shapes.ts'
import { queryOf, useAsked, type News } from './data.ts'
import {
  answered,
  badge,
  bytes,
  code,
  copyButton,
  decisionsOf,
  duration,
  empty,
  errorText,
  eventLink,
  facts,
  failureLine,
  h,
  heading,
  hrefOfMessage,
  idText,
  lateBadge,
  linkButton,
  long,
  messageLink,
  outcomeBadge,
  panel,
  prose,
  quiet,
  recipientOf,
  sentBadge,
  several,
  statusOf,
  time,
  toneOf,
  typeName,
  via,
  type Child,
  type View,
} from './parts.ts'

const STALE_MS = 1_000

export function MessageView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const { project, order } = query
  const isStale = ({ messages, many }: News): number | undefined =>
    many || messages.includes(id) ? STALE_MS : undefined
  const asked = useAsked<MessageDetail>(`api/messages/${encodeURIComponent(id)}${queryOf({ project })}`, isStale)
  return h`${heading(['Message ', idText(id, 'message id')])}${answered(asked, (message) => [
    about(message, view),
    message.entries.length > 1 &&
      h`<nav class="choice" aria-label="Order">
        ${linkButton('In order', ['message', id], { project }, order !== 'arrival')}
        ${linkButton('By arrival', ['message', id], { project, order: 'arrival' }, order === 'arrival')}
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
    ${latest !== undefined && h`<p class="latest">${typeName(latest.type)}${quiet(status)}</p>`}
    ${reports === 0 && h`<p class="latest">${quiet(none)}</p>`}
    ${latest?.failure && failureLine(latest.failure)}
    ${facts([
      ['Recipient', recipientOf(recipient, view)],
      ['Project', project],
      ['As of', time(latest?.occurredAt, true)],
      ['Reports', reports > 0 && several(reports, 'report')],
      ['Final reports', finals > 1 && `${finals}: the carrier named more than one end`],
    ])}
  </section>`
}

function timeline({ entries, sent, project }: MessageDetail, byArrival: boolean, view: View): Child {
  if (entries.length === 0 && sent === undefined)
    return empty(
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
  return h`<li key=${event.id} class=${event.late ? 'late' : toneOf(event.type)}>
    <h2>${eventLink(event, typeName(event.type))}${quiet(statusOf(event))}${lateBadge(event)}
      ${duplicatesAt.length > 0 && badge(`came ${duplicatesAt.length + 1} times`, 'duplicate')}
      ${outcomeBadge(event.outcome)}<span class="do">${decisionsOf(view, event)}</span></h2>
    ${why !== undefined && h`<p class="why">${prose(why)}</p>`}
    ${facts([
      ['Occurred', time(event.occurredAt)],
      [
        'Received',
        [time(event.receivedAt), skewSeconds !== undefined && skewSeconds !== 0 && quiet(` ${skew(skewSeconds)}`)],
      ],
      ['Place', place !== arrival && `${ordinal(place)} in order, ${ordinal(arrival)} to arrive`],
      ['Proof', event.proof],
      ['Via', via(event)],
      [
        'Reorder wait',
        gap && `${duration(gap.waitedForMs)} for ${gap.missing}, which ${gap.filled ? 'came' : 'did not come in time'}`,
      ],
      ['Duplicates', duplicatesAt.length > 0 && duplicatesAt.map((at, index) => [index > 0 && ', ', time(at)])],
    ])}
    ${attemptList(attempts)}
  </li>`
}

/** What the app recorded of the send; reports name little of it. */
function sending(sent: SentDetail, project: string | undefined): Child {
  const { state, wasOverdue, sentAt, to, reference, resendOf, meta } = sent
  return h`<li key="sent">
    <h2><span class="type">sent by you</span>${quiet(sent.refused)}${sentBadge(state)}</h2>
    <p class="why">${sent.why}</p>
    ${facts([
      ['Sent', time(sentAt, true)],
      ['To', code(to)],
      ['Channel', sent.channel],
      ['Type', sent.type],
      ['Campaign', sent.campaign],
      ['Reference', code(reference)],
      ['Resend of', resendOf && code(resendOf, hrefOfMessage(resendOf, project))],
      ['Scheduled for', time(sent.scheduledFor)],
      ['Not after', time(sent.notAfter)],
      [wasOverdue ? 'Was overdue' : 'Overdue', time(sent.overdueAt, true)],
    ])}
    ${meta !== undefined && h`<details open><summary>Your data</summary>${long('Your data', meta)}</details>`}
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
export function attemptList(rows: readonly AttemptRow[]): Child {
  if (rows.length === 0) return undefined
  const firstWith = new Map<string, number>()
  const errorOf = (error: string | undefined, number: number): Child => {
    if (error === undefined) return undefined
    const first = firstWith.get(error) ?? number
    firstWith.set(error, first)
    return first === number ? errorText(error) : h`<div class="error">Same error as in attempt ${first}.</div>`
  }
  return h`<ol class="attempts" aria-label="Attempts">${rows.map(
    ({ number, startedAt, durationMs, outcome, replay, error, handlers }) => {
      const [label, tone] = ATTEMPTS[outcome]
      const isToldByHandler = handlers.some((handler) => handler.error !== undefined)
      return h`<li>
      Attempt ${number}${' '}${badge(label, `dot ${tone}`)}${replay === true && badge('replay', 'calm')}
      ${quiet(startedAt !== undefined && [' ', time(startedAt)], durationMs !== undefined && `, ${duration(durationMs)}`)}
      ${!isToldByHandler && errorOf(error, number)}
      ${
        handlers.length > 0 &&
        h`<ul>${handlers.map(
          (
            handler,
          ) => h`<li><code>${handler.name}</code>${' '}${badge(handler.outcome, `dot ${HANDLER_TONES[handler.outcome]}`)}
            ${handler.durationMs !== undefined && quiet(` ${duration(handler.durationMs)}`)}${errorOf(handler.error, number)}</li>`,
        )}</ul>`
      }
    </li>`
    },
  )}</ol>`
}

function skew(seconds: number): string {
  return `${duration(Math.abs(seconds) * 1_000)} ${seconds > 0 ? 'later' : 'earlier'}`
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
  return h`${heading('Event')}${answered(asked, (detail) => whole(detail, `${path}/raw${named}`, view))}`
}

function whole(detail: EventDetail, rawPath: string, view: View): Child {
  const { event, problem, failure, oddities, payload, raw, curl } = detail
  const { reveal } = view.session.may
  return [
    h`<section class="panel" aria-label="Event">
      <p class="latest">${typeName(event.type)}${quiet(statusOf(event))}${lateBadge(event)}${outcomeBadge(event.outcome)}
        <span class="do">${decisionsOf(view, event)}</span></p>
      ${failure && failureLine(failure)}
      ${event.outcome === 'dead' && h`<p>Fix this error; the log has the stack. Then replay the event.</p>`}
      ${problem !== undefined && h`<p class="note warn">It could not be read: ${problem}</p>`}
      ${facts([
        ['Message', event.messageId && messageLink(event)],
        ['Identified by', code(event.about)],
        ['Recipient', recipientOf(event.recipient, view)],
        ['Project', event.project],
        ['Via', via(event)],
        ['Network', event.carrier === undefined ? undefined : event.network],
        ['Kind of callback', event.kind],
        ['Occurred', time(event.occurredAt)],
        ['Received', time(event.receivedAt, true)],
        ['Admitted', time(event.admittedAt)],
        [event.outcome === 'running' ? 'Leased until' : 'Due', time(event.dueAt, true)],
        ['Completed', time(event.endedAt)],
        ['Oddities', oddities.length > 0 && oddities.join(', ')],
        ['Id', idText(event.id, 'event id')],
      ])}
    </section>`,
    detail.attempts.length > 0 && panel('Attempts', attemptList(detail.attempts)),
    panel('Proof', steps(detail.proofSteps)),
    h`<section class="panel" aria-label="Payload">
      <div class="between"><h2>Payload</h2>${curl !== undefined && h`<span>Request as curl ${copyButton(curl, 'the request as curl')}</span>`}</div>
      ${payload === undefined ? quiet('No payload is kept, or it is no JSON.') : long('Payload', payload)}
    </section>`,
    raw && panel('Raw body', rawBody(raw, reveal ? rawPath : undefined)),
  ]
}

const MARKS = {
  held: ['✓', 'good', 'held'],
  absent: ['–', 'calm', 'absent'],
  unknown: ['?', 'calm', 'not known'],
} as const

function steps(rows: EventDetail['proofSteps']): Child {
  if (rows.length === 0) return quiet('Nothing is kept of how it was proved.')
  return h`<ol class="steps">${rows.map(({ what, outcome, detail }) => {
    const [mark, tone, label] = MARKS[outcome]
    return h`<li><span class=${`mark ${tone}`} aria-hidden="true">${mark}</span>
      <span><strong>${what}</strong><span class="unseen">: ${label}</span> ${quiet(prose(detail))}</span></li>`
  })}</ol>`
}

function rawBody({ text, isCut, bytes: size }: NonNullable<EventDetail['raw']>, download: string | undefined): Child {
  return [
    h`<p class="quiet">${bytes(size)}${isCut && ', cut here'}. ${text === undefined ? 'Masked for you.' : 'The authKey is masked.'}</p>`,
    text !== undefined && long('Raw body', text),
    download !== undefined && h`<p><a class="button" href=${download} download>Download it</a></p>`,
  ]
}
