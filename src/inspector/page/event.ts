/** One event: how it was proved, what was in it, and what the handlers did with it. */
import type { VNode } from 'preact'
import type { Change, EventDetail } from '../shapes.ts'
import { queryOf, useAsked } from './data.ts'
import { attemptList } from './message.ts'
import {
  answered,
  bytes,
  code,
  copyButton,
  decisionsOf,
  facts,
  failureLine,
  h,
  heading,
  long,
  idText,
  lateBadge,
  messageLink,
  outcomeBadge,
  panel,
  prose,
  quiet,
  recipientOf,
  statusOf,
  time,
  typeName,
  via,
  type Child,
  type View,
} from './parts.ts'

const STALE_MS = 1_000

export function EventView(view: View): VNode | VNode[] {
  const { id = '', query } = view.route
  const path = `api/events/${encodeURIComponent(id)}`
  const named = queryOf({ of: query['of'], project: query['project'] })
  const isStale = ({ events, many }: Change): number | undefined => (many || events.includes(id) ? STALE_MS : undefined)
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
        ['Message', messageLink(event)],
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
