/** The timeline of a message and the details of one event. */
import type { VNode } from 'preact'
import type { Attempt, EventDetail, EventRow, MessageDetail, TimelineEntry } from '../routes.ts'
import { queryOf, useAsked } from './data.ts'
import { decisions, decisionsOf, type View } from './deciding.ts'
import { h, type Child } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

export function MessageView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const path = `api/messages/${encodeURIComponent(id)}${queryOf({ project: query['project'] })}`
  const asked = useAsked<MessageDetail>(path, view.changes)
  return h`${ui.heading(['Message ', ui.idText(id, 'message id')])}${ui.loaded(asked, (message) => [
    about(message),
    nextSteps(message, view),
    message.order !== undefined && h`<p class="quiet">${message.order}</p>`,
    h`<ol class="timeline" aria-label="Reports in order">
      ${message.sent && sending(message.sent)}${message.entries.map((each, index) => entry(each, index + 1, view))}
    </ol>`,
  ])}`
}

/** What can be done about the message: replay its dead letters, and verify refused requests again. */
function nextSteps({ messageId, entries, refused }: MessageDetail, view: View): Child {
  const dead = entries.map(({ event }) => event).filter(({ outcome }) => outcome === 'dead')
  const [first] = dead
  const name = ui.several(dead.length, 'dead letter')
  const ids = (): Promise<readonly string[]> => Promise.resolve(dead.map(({ id }) => id))
  const steps = [
    first && {
      key: 'dead',
      tone: 'bad',
      text: h`<strong>${name}</strong><p class="line" title=${first.error}>${first.error?.split('\n', 1)[0]}</p>`,
      remedy: [
        ui.linkButton('Show', ['event', first.id], { of: messageId, project: first.project }),
        decisions(view, { name: `${name} of ${messageId}`, count: dead.length, ids }),
      ],
    },
    refused && {
      key: 'refused',
      tone: 'warn',
      text: h`<strong>${labels.refusedText(refused)}</strong><p>Nothing proves who sent them.</p>`,
      remedy: labels.refusedLink(messageId),
    },
  ]
  return ui.problems(
    'Next steps',
    steps.filter((step) => step !== undefined),
  )
}

function about({ project, recipient, latest, finals, sent, entries, refused }: MessageDetail): Child {
  const reports = entries.filter(({ event }) => event.type !== 'send.overdue' && event.type !== 'unrecognized').length
  const status = [latest?.status, latest?.statusCode].filter((part) => part !== undefined).join(' · ')
  const failed = finals.filter((type) => type === 'message.failed').length
  const isMute = refused === undefined && entries.every(({ event }) => event.type !== 'unrecognized')
  const none =
    sent?.state === 'refused'
      ? 'It was not sent.'
      : isMute
        ? 'No report has arrived yet.'
        : 'No report has been accepted and read.'
  return h`<section class="panel" aria-label="Latest state">
    ${latest !== undefined && h`<p class="latest">${labels.typeName(latest.type)}${ui.quiet(status)}</p>`}
    ${reports === 0 && h`<p class="latest">${ui.quiet(none)}</p>`}
    ${latest?.type === 'message.failed' && labels.failureLine(latest.failure)}
    ${ui.facts({
      Recipient: ui.code(recipient),
      Project: project,
      'Event time': ui.time(latest?.occurredAt, true),
      Reports: reports > 0 && ui.several(reports, 'report'),
      'Final reports': failed > 0 && finals.length > 1 && `${finals.length}, of which ${failed} failed`,
    })}
  </section>`
}

function entry({ event, arrival, duplicatesAt, gap, why, attempts }: TimelineEntry, place: number, view: View): Child {
  // Only the process of the receiver knows its reorder wait, and counts duplicates.
  const { storeAlone } = view.session
  return h`<li key=${event.id} class=${event.late ? 'late' : labels.toneOf(event.type)}>
    <h2>${labels.eventLink(event)}${state(event, view)}
      ${duplicatesAt.length > 0 && ui.badge(`received ${duplicatesAt.length + 1} times`, 'duplicate')}</h2>
    ${why !== undefined && h`<p class="why">${ui.prose(why)}</p>`}
    ${ui.facts({
      ...times(event),
      Place: arrival !== undefined && place !== arrival && `${place} in order, ${arrival} by arrival`,
      Proof: event.proof,
      Channel: labels.channelOf(event),
      'Reorder wait':
        gap &&
        (storeAlone
          ? `– for ${gap.missing}`
          : `${ui.duration(gap.waitedForMs)} for ${gap.missing}, which ${gap.filled ? 'arrived' : 'did not arrive in time'}`),
      Duplicates: storeAlone
        ? '–'
        : duplicatesAt.length > 0 && duplicatesAt.map((at, index) => [index > 0 && ', ', ui.time(at)]),
    })}
    ${attempts.length > 0 && attemptList(attempts)}
  </li>`
}

function state(event: EventRow, view: View): Child {
  return h`${ui.quiet(labels.statusOf(event))}${labels.lateBadge(event)}${labels.dot(labels.OUTCOMES[event.outcome])}
    <span class="do">${decisionsOf(view, event)}</span>`
}

function times({ occurredAt, receivedAt }: EventRow): Readonly<Record<string, Child>> {
  const skewMs = Math.round((Date.parse(receivedAt ?? '') - Date.parse(occurredAt ?? '')) / 1_000) * 1_000
  const skew = Math.abs(skewMs) > 0 && ` ${ui.duration(Math.abs(skewMs))} ${skewMs > 0 ? 'later' : 'earlier'}`
  return { 'Event time': ui.time(occurredAt), Received: receivedAt && [ui.time(receivedAt), skew && ui.quiet(skew)] }
}

/** The send as the app recorded it. Reports contain little of it. */
function sending(sent: NonNullable<MessageDetail['sent']>): Child {
  const { state, wasOverdue, sentAt, to, reference, resendOf, resentAs, project, meta } = sent
  return h`<li key="sent">
    <h2><span class="type">sent by you</span>${ui.quiet(sent.refused)}${labels.dot(labels.SENT[state])}</h2>
    <p class="why">${labels.SENT[state][2]}</p>
    ${ui.facts({
      Sent: ui.time(sentAt, true),
      Recipient: ui.code(to),
      Sender: sent.from,
      Channel: sent.channel,
      Type: sent.type,
      Campaign: sent.campaign,
      Reference: ui.code(reference),
      'Resend of': resendOf && ui.code(resendOf, labels.hrefOfMessage(resendOf, project)),
      'Sent again as': resentAs && ui.code(resentAs, labels.hrefOfMessage(resentAs, project)),
      'Planned time': ui.time(sent.scheduledFor),
      Expiry: ui.time(sent.notAfter),
      Deadline: (wasOverdue || state === 'waiting') && [ui.time(sent.overdueAt, true), wasOverdue && ' missed'],
    })}
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

/** Each attempt with its handlers. An error identical to a previous one is not repeated. */
function attemptList(rows: readonly Attempt[]): Child {
  const firstWith = new Map<string, number>()
  const errorOf = (error: string | undefined, number: number): Child => {
    if (error === undefined) return undefined
    const first = firstWith.get(error) ?? number
    firstWith.set(error, first)
    return first === number ? ui.errorText(error) : h`<div class="error">Same error as in attempt ${first}.</div>`
  }
  const one = ({ number, startedAt, durationMs, outcome, replay, error, handlers }: Attempt): Child => {
    const isToldByHandler = handlers.some((handler) => handler.error !== undefined)
    const when = startedAt !== undefined && [' ', ui.time(startedAt)]
    return h`<li>
      Attempt ${number}${' '}${labels.dot(ATTEMPTS[outcome])}${replay === true && ui.badge('replay', 'calm')}
      ${ui.quiet(when, durationMs !== undefined && `, ${ui.duration(durationMs)}`)}
      ${outcome !== 'running' && startedAt === undefined && ui.quiet(' Handlers: –')}
      ${!isToldByHandler && errorOf(error, number)}
      <ul>${handlers.map(
        ({ name, outcome: how, ...handler }) => h`<li>
          <code>${name}</code>${' '}${labels.dot([how, how === 'succeeded' ? 'good' : 'bad'])}
          ${ui.quiet(` ${ui.duration(handler.durationMs)}`)}${errorOf(handler.error, number)}
        </li>`,
      )}</ul>
    </li>`
  }
  return h`<ol class="attempts" aria-label="Attempts">${rows.map(one)}</ol>`
}

export function EventView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const path = `api/events/${encodeURIComponent(id)}`
  const named = queryOf({ of: query['of'], project: query['project'] })
  const asked = useAsked<EventDetail>(path + named, view.changes)
  return h`${ui.heading('Event')}${ui.loaded(asked, (detail) => whole(detail, `${path}/raw${named}`, view))}`
}

function whole(detail: EventDetail, rawPath: string, view: View): Child {
  const { event, problem, anomalies, payload, bytes, curl, attempts } = detail
  return [
    h`<section class="panel" aria-label="Event">
      <p class="latest">${labels.typeName(event.type)}${state(event, view)}</p>
      ${event.failure && labels.failureLine(event.failure)}
      ${event.outcome === 'dead' && h`<p>Fix this error; the log has the stack. Then replay the event.</p>`}
      ${problem !== undefined && h`<p class="note warn">The callback could not be read. ${problem}</p>`}
      ${ui.facts({
        Message: event.messageId && labels.messageLink(event),
        Identification: ui.code(event.about),
        Recipient: ui.code(event.recipient),
        Project: event.project,
        Channel: labels.channelOf(event),
        Network: event.carrier && event.network,
        Kind: event.kind,
        Proof: event.proof,
        ...times(event),
        Admission: ui.time(event.admittedAt),
        [event.outcome === 'running' ? 'Lease end' : 'Next attempt']: ui.time(event.dueAt, true),
        Completion: ui.time(event.endedAt),
        Anomalies: anomalies.join(', '),
        'Event id': ui.idText(event.id, 'event id'),
      })}
    </section>`,
    attempts.length > 0 && ui.panel('Attempts', attemptList(attempts)),
    h`<section class="panel" aria-label="Payload">
      <div class="between"><h2>Payload</h2>${bytes !== undefined && ui.quiet(ui.bytes(bytes))}
        ${bytes !== undefined && view.session.may.reveal && h`<a href=${rawPath} download>Download it</a>`}
        ${curl !== undefined && h`<span>Request as curl <${ui.CopyButton} text=${curl} what="the request as curl" /></span>`}</div>
      ${ui.payload(payload, view.session.may.reveal, 'The store has no payload, or it is not JSON.')}
    </section>`,
  ]
}
