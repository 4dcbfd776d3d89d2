/** The inspector's page: the view that the address names, and what stands around it: navigation, search, connection, dialogs. */
import { createElement, render, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../shapes.ts'
import {
  after,
  ask,
  asNoAnswer,
  go,
  href,
  listen,
  readRoute,
  useListener,
  type Connection,
  type News,
  type NoAnswer,
} from './data.ts'
import { DeadLettersView } from './dead-letters.ts'
import { Dialog, QuestionDialog, useDecisions } from './deciding.ts'
import { EventsView } from './events.ts'
import { EventView, MessageView } from './message.ts'
import { isField, KEYS, useKeys } from './keys.ts'
import { OverviewView } from './overview.ts'
import { h, type Child, type Question, type View } from './ui.ts'
import * as ui from './ui.ts'
import { QuarantineView } from './quarantine.ts'

const VIEWS: Readonly<Record<string, (view: View) => VNode | VNode[]>> = {
  overview: OverviewView,
  events: EventsView,
  event: EventView,
  message: MessageView,
  'dead-letters': DeadLettersView,
  quarantine: QuarantineView,
}

const CONNECTIONS: Readonly<Record<Connection, readonly [label: string, tone: string, what: string]>> = {
  connecting: ['Connecting', 'calm', 'Asking the server.'],
  live: ['Live', 'good', 'Press to pause.'],
  asking: ['Asking', 'calm', 'No stream of changes: the page asks every few seconds.'],
  lost: ['No connection', 'bad', 'The page asks again by itself.'],
  paused: ['Paused', 'warn', 'Press to go on.'],
}

/** The ages of what is shown go on. */
const TICK_MS = 15_000

const root = document.querySelector('#app')
if (root !== null) render(createElement(App, {}), root)

function App(): VNode | VNode[] {
  const [session, setSession] = useState<Session>()
  const [problem, setProblem] = useState<NoAnswer>()

  function start(): void {
    ask<Session>('api/session').then(
      (answer) => {
        setSession(answer)
        setProblem(undefined)
      },
      (error: unknown) => {
        setProblem(asNoAnswer(error))
        after(5_000, start)
      },
    )
  }

  useEffect(start, [])
  // Whatever the reader saw goes with the right to see it.
  if (problem !== undefined) return h`<main>${ui.heading('Inspector')}${ui.problemBox(problem)}</main>`
  if (session === undefined) return h`<main aria-busy="true"></main>`
  function onSignedOut(refused: NoAnswer): void {
    setProblem(refused)
    after(5_000, start)
  }
  return h`<${Inspector} session=${session} onSession=${setSession} onSignedOut=${onSignedOut} />`
}

interface InspectorProps {
  readonly session: Session
  readonly onSession: (session: Session) => void
  readonly onSignedOut: (refused: NoAnswer) => void
}

function Inspector({ session, onSession, onSignedOut }: InspectorProps): VNode | VNode[] {
  const [route, setRoute] = useState(readRoute)
  const [connection, setConnection] = useState<Connection>('connecting')
  const [counts, setCounts] = useState({ deadLetters: 0, quarantined: 0 })
  const [question, setQuestion] = useState<Question>()
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [, setTicks] = useState(0)
  const live = useRef<ReturnType<typeof listen>>(undefined)
  const isPaused = connection === 'paused'

  function hear({ deadLetters = 0, quarantined }: News): void {
    if (deadLetters > counts.deadLetters && connection === 'live') say(ui.several(deadLetters, 'dead letter'))
    setCounts({ deadLetters, quarantined })
  }

  const latest = useRef(onSession)
  latest.current = onSession
  useListener({ onChange: hear, onGap() {}, onSignedOut })
  useEffect(() => {
    const listening = listen({
      onConnection: setConnection,
      onSession: (now) => latest.current(now),
    })
    live.current = listening
    let cancel = (): void => {}
    const tick = (): void => {
      setTicks((ticks) => ticks + 1)
      cancel = after(TICK_MS, tick)
    }
    cancel = after(TICK_MS, tick)
    const move = (): void => setRoute(readRoute())
    window.addEventListener('hashchange', move)
    return () => {
      cancel()
      listening.end()
      window.removeEventListener('hashchange', move)
    }
  }, [])
  useEffect(() => {
    if (connection === 'lost') say('No connection to the server.')
    if (connection === 'live') say('Connected.')
  }, [connection])

  const decisions = useDecisions({ confirm: setQuestion, say, refresh: () => live.current?.refresh() })
  const place = `${route.view}/${route.id ?? ''}`
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${[route.id, titleOf(route.view)].filter((part) => part !== undefined).join(' · ')} · Inspector`
    if (!isFirst.current) {
      scrollTo(0, 0)
      decisions.leave()
      // A reader who types goes on typing.
      if (!isField(document.activeElement)) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    }
    isFirst.current = false
  }, [place])

  const view: View = { session, route, say, confirm: setQuestion, decide: decisions.decide }
  useKeys({
    search: () => searchField()?.select(),
    help: () => setHelpOpen(true),
    refresh: () => live.current?.refresh(),
    pause: () => live.current?.hold(!isPaused),
    zone: toggleZone,
  })

  function toggleZone(): void {
    ui.zone.set(!ui.zone.isUtc)
    setTicks((ticks) => ticks + 1)
  }

  const Shown = Object.hasOwn(VIEWS, route.view) ? VIEWS[route.view] : undefined
  return h`<a class="skip" href="#main" onClick=${skip}>To the content</a>
    ${header()}
    <main id="main" tabindex="-1">
      ${
        connection === 'lost' &&
        h`<p class="note bad"><strong>No connection. </strong>The server does not answer. What you see is from before; the
          page asks again by itself.</p>`
      }
      ${decisions.panel}
      ${
        Shown === undefined
          ? [ui.heading('Not found'), ui.empty('There is no such view.', h`<a href="#/overview">To the overview</a>`)]
          : createElement(Shown, { key: place, ...view })
      }
    </main>
    ${footer(session, toggleZone)}
    <${Dialog} isOpen=${isHelpOpen} title="Keys" onClose=${() => setHelpOpen(false)}>
      <dl class="keys">${KEYS.map(([key, what]) => h`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>
      <div class="tools end"><button type="button" onClick=${() => setHelpOpen(false)}>Close</button></div>
    <//>
    <${QuestionDialog} question=${question} onAnswer=${() => setQuestion(undefined)} />`

  function header(): Child {
    const current = route.view === 'event' || route.view === 'message' ? 'events' : route.view
    const link = (name: string, number = 0, tone = ''): Child =>
      h`<a href=${href([name])} aria-current=${name === current ? 'page' : undefined}>
        ${titleOf(name)}${number > 0 && h`<span class=${`badge ${tone}`}>${ui.count(number)}</span>`}
      </a>`
    const [label, tone, what] = CONNECTIONS[connection]
    return h`<header>
      <a class="brand" href="#/overview">Inspector</a>
      <nav aria-label="Views">
        ${link('overview')}${link('events')}
        ${link('dead-letters', counts.deadLetters, 'bad')}${link('quarantine', counts.quarantined, 'warn')}
      </nav>
      <form role="search" onSubmit=${search}>
        <${ui.Field} id="search" type="search" autocomplete="off" spellcheck=${false} value=${route.query['q'] ?? ''}
          aria-label="Message id, recipient or event id" placeholder="Message id, recipient or event id" />
      </form>
      <button type="button" class=${`live dot ${tone}`} title=${what} onClick=${() => live.current?.hold(!isPaused)}>${label}</button>
      <button type="button" class="quiet help" aria-label="Keys" title="Keys" onClick=${() => setHelpOpen(true)}>?</button>
    </header>`
  }
}

function say(text: string): void {
  const announcer = document.querySelector('#said')
  if (announcer !== null) announcer.textContent = text
}

function titleOf(view: string): string {
  const text = view.replace('-', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The address behind `#` names the view, so the focus is moved by hand. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function searchField(): HTMLInputElement | null {
  return document.querySelector('#search')
}

function search(event: Event): void {
  event.preventDefault()
  const q = searchField()?.value.trim() ?? ''
  if (q !== '') go(['events'], { q })
}

function footer({ version, store, may, who, storeAlone }: Session, onZone: () => void): Child {
  const rights = ['look', ...(may.write ? ['change'] : []), ...(may.reveal ? ['see numbers and bodies'] : [])]
  const listed = rights.length === 1 ? rights : [rights.slice(0, -1).join(', '), rights.at(-1)]
  const local = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return h`<footer>
    <p>messaging-webhooks ${version}, store ${store.name}${storeAlone && ', without its receiver'}.
      ${' '}${who === undefined ? 'You' : `${who}, you`} may ${listed.join(' and ')}.
      ${!may.reveal && ' Numbers and bodies are masked: you lack the right to reveal them.'}</p>
    <p>Times are in ${ui.zone.isUtc ? 'UTC' : `your zone, ${local}`}. Hover for the full timestamp.${' '}
      <button type="button" class="link" onClick=${onZone}>Show ${ui.zone.isUtc ? 'local times' : 'UTC'}</button></p>
  </footer>`
}
