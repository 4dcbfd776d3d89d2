/** The inspector's page: the view that the address names, with navigation, search, connection and dialogs. */
import { createElement, render, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../shapes.ts'
import { after, ask, asNoAnswer, go, href, readRoute, type NoAnswer } from './data.ts'
import { Dialog, QuestionDialog, useDecisions } from './deciding.ts'
import { DeadLettersView, EventsView } from './lists.ts'
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

const ASK_EVERY_MS = 2_000
const ASK_AGAIN_MS = 5_000

const root = document.querySelector('#app')
if (root !== null) render(createElement(App, {}), root)

/** Requests the session while the page is visible: whether the reader still has access, and whether something changed. */
function App(): VNode | VNode[] {
  const [session, setSession] = useState<Session>()
  const [problem, setProblem] = useState<NoAnswer>()
  const [isPaused, setPaused] = useState(false)
  const [refreshes, setRefreshes] = useState(0)

  useEffect(() => {
    if (isPaused) return undefined
    const polling = { isOver: false, cancel: () => {} }
    async function poll(): Promise<void> {
      polling.cancel()
      if (document.hidden) return
      let everyMs = ASK_EVERY_MS
      try {
        setSession(await ask<Session>('api/session'))
        setProblem(undefined)
      } catch (error) {
        setProblem(asNoAnswer(error))
        everyMs = ASK_AGAIN_MS
      }
      polling.cancel()
      if (!polling.isOver) polling.cancel = after(everyMs, look)
    }
    const look = (): void => void poll()
    look()
    document.addEventListener('visibilitychange', look)
    return () => {
      polling.isOver = true
      polling.cancel()
      document.removeEventListener('visibilitychange', look)
    }
  }, [isPaused, refreshes])

  // Remove what is shown when access ends.
  if (problem !== undefined && (problem.isSignedOut || session === undefined))
    return h`<main>${ui.heading('Inspector')}${ui.problemBox(problem)}</main>`
  if (session === undefined) return h`<main aria-busy="true"></main>`
  return h`<${Inspector} session=${session} problem=${problem} isPaused=${isPaused} refreshes=${refreshes}
    onPause=${() => setPaused(!isPaused)} onRefresh=${() => setRefreshes(refreshes + 1)} />`
}

interface InspectorProps {
  readonly session: Session
  readonly problem: NoAnswer | undefined
  readonly isPaused: boolean
  readonly refreshes: number
  readonly onPause: () => void
  readonly onRefresh: () => void
}

function Inspector({ session, problem, isPaused, refreshes, onPause, onRefresh }: InspectorProps): VNode | VNode[] {
  const [route, setRoute] = useState(readRoute)
  const [question, setQuestion] = useState<Question>()
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [, setUtc] = useState(ui.zone.isUtc)
  const { deadLetters = 0, quarantined } = session
  const connection = isPaused ? 'Paused' : problem === undefined ? 'Live' : 'No connection'

  const lastDeadLetters = useRef(deadLetters)
  useEffect(() => {
    if (deadLetters > lastDeadLetters.current) say(ui.several(deadLetters, 'dead letter'))
    lastDeadLetters.current = deadLetters
  }, [deadLetters])
  useEffect(() => say(connection), [connection])
  useEffect(() => {
    const move = (): void => setRoute(readRoute())
    window.addEventListener('hashchange', move)
    return () => window.removeEventListener('hashchange', move)
  }, [])

  const decisions = useDecisions({ confirm: setQuestion, say, refresh: onRefresh })
  const place = `${route.view}/${route.id ?? ''}`
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${[route.id, titleOf(route.view)].filter((part) => part !== undefined).join(' · ')} · Inspector`
    if (!isFirst.current) {
      scrollTo(0, 0)
      decisions.leave()
      // Do not take the focus from a field.
      if (!isField(document.activeElement)) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    }
    isFirst.current = false
  }, [place])

  function toggleZone(): void {
    ui.zone.set(!ui.zone.isUtc)
    setUtc(ui.zone.isUtc)
  }

  useKeys({
    search: () => searchField()?.select(),
    help: () => setHelpOpen(true),
    refresh: onRefresh,
    pause: onPause,
    zone: toggleZone,
  })

  const changes = `${refreshes} ${session.changes}`
  const { decide } = decisions
  const view: View = { session, route, changes, say, confirm: setQuestion, decide, refresh: onRefresh }
  const Shown = Object.hasOwn(VIEWS, route.view) ? VIEWS[route.view] : undefined
  return h`<a class="skip" href="#main" onClick=${skip}>To the content</a>
    ${header()}
    <main id="main" tabindex="-1">
      ${problem && ui.problemBox(problem, true)}
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
    const tone = isPaused ? 'warn' : problem === undefined ? 'good' : 'bad'
    return h`<header>
      <a class="brand" href="#/overview">Inspector</a>
      <nav aria-label="Views">
        ${link('overview')}${link('events')}
        ${link('dead-letters', deadLetters, 'bad')}${link('quarantine', quarantined, 'warn')}
      </nav>
      <form role="search" onSubmit=${search}>
        <${ui.Field} id="search" type="search" autocomplete="off" spellcheck=${false} value=${route.query['q'] ?? ''}
          aria-label="Message id, recipient or event id" placeholder="Message id, recipient or event id" />
      </form>
      <button type="button" class=${`live dot ${tone}`} title="Press to pause, or to go on." onClick=${onPause}>${connection}</button>
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

/** The address after `#` names the view, so move the focus by script. */
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
  const local = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return h`<footer>
    <p>messaging-webhooks ${version}, store ${store.name}${!store.durable && ', whose content ends with the process'}${storeAlone && ', without its receiver'}.
      ${who !== undefined && ` You are ${who}.`}
      ${!may.write && ' Read-only: you lack the right to write.'}
      ${!may.reveal && ' Numbers and bodies are masked: you lack the right to reveal.'}</p>
    <p>Times are in ${ui.zone.isUtc ? 'UTC' : `your zone, ${local}`}. Hover for the full timestamp.${' '}
      <button type="button" class="link" onClick=${onZone}>Show ${ui.zone.isUtc ? 'local times' : 'UTC'}</button></p>
  </footer>`
}
