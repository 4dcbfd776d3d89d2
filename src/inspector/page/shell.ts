/** What stands around every view: where one can go, the search, how the connection is, and questions. */
import type { Session } from '../shapes.ts'
import { h, type Child, type Tree } from './elements.ts'
import { KEYS } from './keys.ts'
import type { Connection } from './live.ts'
import { prose } from './parts.ts'
import { href, type Route } from './route.ts'
import type { Question } from './screen.ts'
import { count } from './words.ts'

interface Frame {
  readonly session: Session
  readonly route: Route
  readonly connection: Connection
  readonly deadLetters: number | undefined
  readonly quarantined: number
  readonly isHelpOpen: boolean
  readonly question: Question | undefined
  readonly onPause: () => void
  readonly onHelp: (isOpen: boolean) => void
  readonly onAnswer: (isYes: boolean) => void
}

const CONNECTIONS: Readonly<Record<Connection, readonly [label: string, tone: string, what: string]>> = {
  connecting: ['Connecting', 'calm', 'Asking the server.'],
  live: ['Live', 'good', 'Changes show as they happen. Press to hold still.'],
  asking: ['Asking', 'calm', 'There is no stream of changes; the page asks every few seconds. Press to hold still.'],
  lost: ['No connection', 'bad', 'The server does not answer; it is asked again by itself.'],
  refused: ['Signed out', 'bad', 'The server does not let you in any more.'],
  paused: ['Held still', 'warn', 'Nothing changes until you press again.'],
}

export function shell(frame: Frame, content: Child): readonly Tree[] {
  return [
    h('a', { class: 'skip', href: '#main', onclick: skip }, 'To the content'),
    header(frame),
    h('main', { id: 'main', tabindex: -1 }, connectionNote(frame.connection), content),
    footer(frame.session),
    helpDialog(frame),
    questionDialog(frame),
  ]
}

/** The address behind `#` tells the view, so the focus is moved by hand. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function header({ route, connection, deadLetters, quarantined, onPause, onHelp }: Frame): Tree {
  const [view = 'overview'] = route.path
  const current = view === 'event' || view === 'message' ? 'events' : view
  const link = (name: string, text: string, number = 0, tone = ''): Tree =>
    h(
      'a',
      { key: name, href: href([name]), 'aria-current': name === current ? 'page' : undefined },
      text,
      number > 0 && h('span', { class: `badge ${tone}` }, count(number)),
    )
  const [label, tone, what] = CONNECTIONS[connection]
  return h(
    'header',
    {},
    h('a', { class: 'brand', href: href(['overview']) }, 'Inspector'),
    h(
      'nav',
      { 'aria-label': 'Views' },
      link('overview', 'Overview'),
      link('events', 'Events'),
      link('dead-letters', 'Dead letters', deadLetters, 'bad'),
      link('quarantine', 'Quarantine', quarantined, 'warn'),
    ),
    h(
      'form',
      { role: 'search', onsubmit: search },
      h('input', {
        id: 'search',
        type: 'search',
        autocomplete: 'off',
        spellcheck: 'false',
        'aria-label': 'Message id, recipient or event id',
        placeholder: 'Message id, recipient or event id',
        value: route.query.get('q') ?? '',
      }),
    ),
    h(
      'button',
      {
        type: 'button',
        class: `live dot ${tone}`,
        title: what,
        onclick: onPause,
      },
      label,
    ),
    h(
      'button',
      { type: 'button', class: 'quiet help', 'aria-label': 'Keys', title: 'Keys', onclick: () => onHelp(true) },
      '?',
    ),
  )
}

function search(event: Event): void {
  event.preventDefault()
  const input = document.querySelector<HTMLInputElement>('#search')
  const q = input?.value.trim() ?? ''
  if (q !== '') location.hash = href(['events'], { q })
}

function connectionNote(connection: Connection): Child {
  if (connection === 'lost')
    return h(
      'p',
      { key: 'lost', class: 'note bad' },
      h('strong', {}, 'No connection. '),
      'The server does not answer. What you see is from before; it is asked again by itself.',
    )
  if (connection === 'refused')
    return h(
      'p',
      { key: 'lost', class: 'note bad' },
      h('strong', {}, 'Signed out. '),
      'Sign in to your app again, and reload this page.',
    )
  return undefined
}

function footer({ version, store, may, who, storeAlone }: Session): Tree {
  const rights = ['look', ...(may.write ? ['change'] : []), ...(may.reveal ? ['see numbers and bodies'] : [])]
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return h(
    'footer',
    {},
    h(
      'p',
      {},
      `messaging-webhooks ${version}, store ${store.name}${storeAlone === true ? ', looked into without its receiver' : ''}.`,
    ),
    h(
      'p',
      {},
      `${who === undefined ? 'You' : `${who}, you`} may ${listed(rights)}.`,
      may.reveal ? '' : ' Numbers and bodies are masked: the app gives you no right to reveal them.',
      ` Times are those of ${zone}; each has the exact UTC behind it.`,
    ),
  )
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`
}

function helpDialog({ isHelpOpen, onHelp }: Frame): Tree {
  return h(
    'dialog',
    { key: 'help', id: 'help', 'data-open': isHelpOpen, 'aria-labelledby': 'help-title', onclose: () => onHelp(false) },
    h('h2', { id: 'help-title' }, 'Keys'),
    h(
      'dl',
      { class: 'keys' },
      KEYS.map(({ key, what }) => h('div', { key }, h('dt', {}, h('kbd', {}, key)), h('dd', {}, what))),
    ),
    h('div', { class: 'tools end' }, h('button', { type: 'button', onclick: () => onHelp(false) }, 'Close')),
  )
}

function questionDialog({ question, onAnswer }: Frame): Tree {
  return h(
    'dialog',
    {
      key: 'question',
      id: 'question',
      'data-open': question !== undefined,
      'aria-labelledby': 'question-title',
      onclose: () => onAnswer(false),
    },
    question && [
      h('h2', { id: 'question-title' }, question.title),
      question.text.map((line) => h('p', {}, prose(line))),
      h(
        'div',
        { class: 'tools end' },
        h('button', { type: 'button', autofocus: true, onclick: () => onAnswer(false) }, 'Cancel'),
        h(
          'button',
          { type: 'button', class: question.isGrave ? 'grave' : 'main', onclick: () => onAnswer(true) },
          question.yes,
        ),
      ),
    ],
  )
}

/** A dialog is open by a call and no attribute, so that the rest of the page cannot be reached meanwhile. */
export function openDialogs(): void {
  for (const dialog of document.querySelectorAll('dialog')) {
    const isToBeOpen = dialog.hasAttribute('data-open')
    if (isToBeOpen && !dialog.open) dialog.showModal()
    if (!isToBeOpen && dialog.open) dialog.close()
  }
}
