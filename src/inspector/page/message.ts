/** All that was reported of one message: in which order, why in that order, and what the handlers did with it. */
import type { Change, EventDetail, MessageDetail, SentDetail, TimelineEntry } from '../shapes.ts'
import { askMessage } from './asking.ts'
import { attempts } from './attempts.ts'
import { h, type Child, type Tree } from './elements.ts'
import {
  badge,
  SENT,
  sentBadge,
  eventLink,
  facts,
  lateBadge,
  outcomeBadge,
  prose,
  quiet,
  statusOf,
  timeOf,
  toneOf,
  typeName,
  via,
} from './parts.ts'
import { href, hrefOfMessage } from './route.ts'
import { asking, empty, heading, type Screen, type Surroundings } from './screen.ts'
import { duration, several, time } from './words.ts'

const STALE_AFTER_MS = 1_000

export function messageScreen({ session, route, show }: Surroundings, messageId: string): Screen {
  const project = route.query.get('project') ?? undefined
  const byArrival = route.query.get('order') === 'arrival'
  const asked = asking(() => askMessage(messageId, { project }), show)
  return {
    title: `Message ${messageId}`,
    refresh: asked.refresh,
    staleAfterMs: ({ messages, many }: Change) => (many || messages.includes(messageId) ? STALE_AFTER_MS : undefined),
    content() {
      return [
        heading('Message ', h('span', { class: 'id' }, messageId)),
        asked.answered((message) => [about(message, session.may.reveal), order(), timeline(message)]),
      ]
    },
  }

  function order(): Tree {
    const link = (text: string, value: string | undefined, isChosen: boolean): Tree =>
      h(
        'a',
        {
          class: 'button',
          href: href(['message', messageId], { project, order: value }),
          'aria-current': isChosen ? 'true' : undefined,
        },
        text,
      )
    return h(
      'nav',
      { class: 'choice', 'aria-label': 'Order' },
      link('In order', undefined, !byArrival),
      link('By arrival', 'arrival', byArrival),
    )
  }

  function timeline({ entries, sent, project: named }: MessageDetail): Tree {
    if (entries.length === 0 && sent === undefined)
      return empty(
        'Nothing is known of this message.',
        'Its reports may not have come yet, or what was kept of them is forgotten by now.',
        ['Reports that were refused are in ', h('a', { href: href(['quarantine']) }, 'quarantine'), '.'],
      )
    const sorted = entries.toSorted((a, b) => (byArrival ? a.arrival - b.arrival : a.place - b.place))
    return h(
      'ol',
      { class: 'timeline', 'aria-label': byArrival ? 'Reports by arrival' : 'Reports in order' },
      sent && sending(sent, named),
      sorted.map(entry),
    )
  }

  function entry(row: TimelineEntry): Tree {
    const { event, place, arrival, skewSeconds, late, duplicates, duplicatesAt, proof, gap, why } = row
    return h(
      'li',
      { key: event.id, class: late ? 'late' : toneOf(event.type) },
      h(
        'h2',
        {},
        eventLink(event, typeName(event.type)),
        quiet(statusOf(event)),
        lateBadge(event),
        duplicates > 0 && badge(`came ${duplicates + 1} times`, 'duplicate'),
        outcomeBadge(event.outcome),
      ),
      h('p', { class: 'why' }, prose(why)),
      facts([
        ['Its own time', timeOf(event.occurredAt)],
        ['Came', [timeOf(event.receivedAt), skewSeconds !== undefined && quiet(` ${skew(skewSeconds)}`)]],
        ['Place', place !== arrival && `${ordinal(place)} in order, ${ordinal(arrival)} to come`],
        ['Proof', proof ?? event.proof],
        ['By', via(event)],
        ['Waited', gap && gapText(gap)],
        ['Again', duplicates > 0 && duplicatesAt.map((at, index) => [index > 0 && ', ', time(at)])],
      ]),
      attempts(row.attempts),
    )
  }
}

/** What the app told of the send; reports name little of it. */
function sending(sent: SentDetail, project: string | undefined): Tree {
  const { state, wasOverdue, sentAt, to, type, channel, campaign, reference, meta, refused } = sent
  const { resendOf, scheduledFor, overdueAt, notAfter } = sent
  return h(
    'li',
    { key: 'sent' },
    h('h2', {}, h('span', { class: 'type' }, 'sent by you'), quiet(refused), sentBadge(state)),
    h('p', { class: 'why' }, SENT[state][2]),
    facts([
      ['Sent', timeOf(sentAt)],
      ['To', to !== undefined && h('span', { class: 'id' }, to)],
      ['By', channel],
      ['Type', type],
      ['Campaign', campaign],
      ['Reference', reference !== undefined && h('span', { class: 'id' }, reference)],
      [
        'Again, for',
        resendOf !== undefined && h('a', { class: 'id', href: hrefOfMessage(resendOf, project) }, resendOf),
      ],
      ['Planned for', timeOf(scheduledFor)],
      ['Of use until', timeOf(notAfter)],
      [wasOverdue ? 'Was overdue' : 'Overdue', timeOf(overdueAt)],
    ]),
    meta !== undefined &&
      h('details', { open: true }, h('summary', {}, 'Yours'), h('pre', { tabindex: 0, 'aria-label': 'Yours' }, meta)),
  )
}

function about({ project, recipient, latest, finals, sent, entries }: MessageDetail, mayReveal: boolean): Tree {
  const reports = entries.filter(({ event }) => event.type !== 'message.overdue').length
  return h(
    'section',
    { class: 'panel', 'aria-label': 'Latest state' },
    latest !== undefined &&
      h(
        'p',
        { class: 'latest' },
        typeName(latest.type),
        quiet([latest.status, latest.statusCode].filter((part) => part !== undefined).join(' · ')),
      ),
    reports === 0 &&
      h(
        'p',
        { class: 'latest' },
        quiet(sent?.state === 'refused' ? 'It was not sent.' : 'No report of it has come yet.'),
      ),
    latest?.failure && failureLine(latest.failure),
    facts([
      [
        'Recipient',
        recipient !== undefined && [h('span', { class: 'id' }, recipient), !mayReveal && quiet(' masked for you')],
      ],
      ['Project', project],
      ['As of', timeOf(latest?.occurredAt)],
      ['Reports', reports > 0 && several(reports, 'report')],
      ['Final reports', finals > 1 && `${finals}: the carrier named more than one end`],
    ]),
  )
}

export function failureLine({ kind, resend, reason, cause }: NonNullable<EventDetail['failure']>): Child {
  return h(
    'p',
    { class: `note ${resend ? 'warn' : 'bad'}` },
    h('strong', {}, `Failed, ${kind}: ${resend ? 'send it again.' : 'do not send it again.'}`),
    ` ${[cause, reason].filter((part) => part !== undefined).join(': ')}`,
  )
}

function skew(seconds: number): string {
  if (Math.abs(seconds) < 1) return 'at its own time'
  return `${duration(Math.abs(seconds) * 1_000)} ${seconds > 0 ? 'after' : 'before'} its own time`
}

function gapText({ waitedForMs, missing, filled }: NonNullable<TimelineEntry['gap']>): string {
  return `${duration(waitedForMs)} for ${missing}, which ${filled ? 'came' : 'did not come in time'}`
}

function ordinal(number: number): string {
  const tens = number % 100
  const suffix = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th')
  return `${number}${suffix}`
}
