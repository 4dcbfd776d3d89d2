/** One event: how it was proved, what was in it, and what the handlers did with it. */
import type { Change, EventDetail } from '../shapes.ts'
import { askEvent, rawOf } from './asking.ts'
import { attempts } from './attempts.ts'
import { h, type Child, type Tree } from './elements.ts'
import { failureLine } from './message.ts'
import { facts, lateBadge, messageLink, outcomeBadge, prose, quiet, statusOf, timeOf, typeName, via } from './parts.ts'
import { asking, heading, panel, type Screen, type Surroundings } from './screen.ts'
import { bytes, cut } from './words.ts'

const STALE_AFTER_MS = 1_000

export function eventScreen({ session, route, show }: Surroundings, id: string): Screen {
  const query = Object.fromEntries(route.query)
  const asked = asking(() => askEvent(id, query), show)
  return {
    title: `Event ${id}`,
    refresh: asked.refresh,
    staleAfterMs: ({ events, many }: Change) => (many || events.includes(id) ? STALE_AFTER_MS : undefined),
    content() {
      return [heading('Event'), asked.answered((detail) => whole(detail, session.may.reveal))]
    },
  }
}

function whole(detail: EventDetail, mayReveal: boolean): Child {
  const { event, problem, failure, oddities, proofSteps, payload, raw } = detail
  return [
    h(
      'section',
      { class: 'panel', 'aria-label': 'What it is' },
      h(
        'p',
        { class: 'latest' },
        typeName(event.type),
        quiet(statusOf(event)),
        lateBadge(event),
        outcomeBadge(event.outcome),
      ),
      failure && failureLine(failure),
      problem !== undefined && h('p', { class: 'note warn' }, `It could not be read: ${problem}`),
      facts([
        ['Message', messageLink(event)],
        [
          'Recipient',
          event.recipient !== undefined && [
            h('span', { class: 'id' }, event.recipient),
            !mayReveal && quiet(' masked for you'),
          ],
        ],
        ['Project', event.project],
        ['By', via(event)],
        ['Network', event.carrier === undefined ? undefined : event.network],
        ['Kind of callback', event.kind],
        ['Its own time', timeOf(event.occurredAt)],
        ['Came', timeOf(event.receivedAt)],
        ['Taken into the store', timeOf(event.admittedAt)],
        ['Due', timeOf(event.dueAt)],
        ['Ended', timeOf(event.endedAt)],
        ['Odd about it', oddities.length > 0 && oddities.join(', ')],
        ['Id', h('span', { class: 'id' }, event.id)],
      ]),
    ),
    panel('How it was proved', steps(proofSteps)),
    detail.attempts.length > 0 && panel('What the handlers did', attempts(detail.attempts)),
    panel(
      'Payload',
      payload === undefined
        ? h('p', { class: 'quiet' }, 'Nothing of it is kept.')
        : h('pre', { tabindex: 0, 'aria-label': 'Payload' }, cut(payload)),
    ),
    raw &&
      panel(
        'As it came',
        bodyAsItCame(raw, mayReveal ? rawOf(event.id, { of: event.messageId, project: event.project }) : undefined),
      ),
  ]
}

const MARKS = {
  held: ['✓', 'good', 'held'],
  absent: ['–', 'calm', 'absent'],
  unknown: ['?', 'calm', 'not known'],
} as const

function steps(rows: EventDetail['proofSteps']): Tree {
  if (rows.length === 0) return h('p', { class: 'quiet' }, 'Nothing is kept of how it was proved.')
  return h(
    'ol',
    { class: 'steps' },
    rows.map(({ what, outcome, detail }) => {
      const [mark, tone, label] = MARKS[outcome]
      return h(
        'li',
        {},
        h('span', { class: `mark ${tone}`, 'aria-hidden': 'true' }, mark),
        h('span', {}, h('strong', {}, what), h('span', { class: 'unseen' }, `: ${label}`), ' ', quiet(prose(detail))),
      )
    }),
  )
}

interface Body {
  readonly text?: string
  readonly hex: string
  readonly isCut: boolean
  readonly bytes?: number
  readonly isMasked?: boolean
}

/** As text and in hexadecimal digits; `download` leads to all of it, where the reader may have it. */
export function bodyAsItCame({ text, hex, isCut, bytes: size, isMasked }: Body, download?: string): Child {
  const said = [
    size === undefined ? '' : bytes(size),
    isCut ? 'only its beginning is shown' : '',
    isMasked === true ? 'numbers and texts are masked for you' : 'the authKey is masked',
  ]
  return [
    h(
      'p',
      { class: 'quiet' },
      `${said.filter((part) => part !== '').join('; ')}. `,
      download !== undefined && h('a', { href: download, download: '' }, 'Download it'),
    ),
    text !== undefined &&
      h(
        'details',
        { key: 'text' },
        h('summary', {}, 'As text'),
        h('pre', { tabindex: 0, 'aria-label': 'As text' }, cut(text)),
      ),
    h(
      'details',
      { key: 'hex' },
      h('summary', {}, 'In hexadecimal digits'),
      h('pre', { tabindex: 0, 'aria-label': 'In hexadecimal digits' }, cut(inRows(hex))),
    ),
  ]
}

/** Sixteen bytes a row, as every hex dump has it. */
function inRows(hex: string): string {
  return hex.includes('\n') || hex.includes(' ')
    ? hex
    : (hex.slice(0, 32_768).match(/.{1,32}/g) ?? []).map((row) => row.replace(/(..)(?=.)/g, '$1 ')).join('\n')
}
