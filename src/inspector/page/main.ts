/** The inspector's page: the view that the address names, with navigation, search, connection and dialogs. */
import { createElement, render, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../routes.ts'
import { ask, asNoAnswer, every, go, href, readRoute, type NoAnswer } from './data.ts'
import { openDialog, useDecisions, type View } from './deciding.ts'
import { DeadLettersView, EventsView } from './lists.ts'
import { EventView, MessageView } from './message.ts'
import { OverviewView } from './overview.ts'
import { h, say, type Child } from './ui.ts'
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

/** The first letter of each tab is its key. */
const TABS = ['overview', 'events', 'dead-letters', 'quarantine'] as const

const ASK_EVERY_MS = 2_000

interface Key {
  readonly key: string
  readonly what: string
  /** Absent if the browser handles the key. */
  readonly run?: () => void
}

const ROW_KEYS: readonly Key[] = [
  { key: 'j', what: 'Next row', run: () => step(1) },
  { key: 'k', what: 'Previous row', run: () => step(-1) },
  { key: 'Enter', what: 'Open the row' },
  { key: 'x', what: 'Select the row', run: tick },
]

const root = document.querySelector('#app')
if (root !== null) render(createElement(App, {}), root)

function App(): VNode | VNode[] {
  const [isPaused, setPaused] = useState(false)
  const [refreshes, setRefreshes] = useState(0)
  const { session, problem } = useSession(isPaused, refreshes)
  const [route, setRoute] = useState(readRoute)
  const [, setUtc] = useState(ui.zone.isUtc)
  const { deadLetters = 0, quarantined = 0 } = session ?? {}
  const onPause = (): void => setPaused(!isPaused)
  const onRefresh = (): void => setRefreshes(refreshes + 1)
  const [connection, tone] = isPaused ? ['Paused', 'warn'] : problem ? ['No connection', 'bad'] : ['Live', 'good']

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

  const { decide, panel, leave } = useDecisions(onRefresh)
  const place = `${route.view}/${route.id ?? ''}`
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${[route.id, titleOf(route.view)].filter((part) => part !== undefined).join(' · ')} · Inspector`
    if (!isFirst.current) {
      scrollTo(0, 0)
      leave()
      // Do not take the focus from a field.
      if (!isField(document.activeElement)) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    }
    isFirst.current = false
  }, [place])

  const toggleZone = (): void => setUtc(ui.zone.toggle())

  const keys: readonly Key[] = [
    ...ROW_KEYS,
    { key: '/', what: 'Search', run: () => searchField()?.select() },
    ...TABS.map((name) => ({ key: name.charAt(0), what: titleOf(name), run: () => go([name]) })),
    { key: 'r', what: 'Refresh', run: onRefresh },
    { key: 'p', what: 'Pause or resume', run: onPause },
    { key: 'u', what: 'UTC or local time', run: toggleZone },
    { key: '?', what: 'This help', run: help },
  ]
  useKeys(keys)
  function help(): void {
    const rows = keys.map(({ key, what }) => h`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)
    void openDialog('Keys', h`<dl class="keys">${rows}</dl><div class="tools end"><button>Close</button></div>`)
  }

  // Remove the content when access ends.
  if (problem !== undefined && (problem.isSignedOut || session === undefined))
    return h`<main>${ui.heading('Inspector')}${ui.problemBox(problem)}</main>`
  if (session === undefined) return h`<main aria-busy="true"></main>`
  const view: View = { session, route, changes: `${refreshes} ${session.changes}`, decide, refresh: onRefresh }
  const Shown = Object.hasOwn(VIEWS, route.view) ? VIEWS[route.view] : undefined
  return h`<a class="skip" href="#main" onClick=${skip}>To the content</a>
    <header>
      <a class="brand" href="#/overview">Inspector</a>
      <nav aria-label="Views">
        ${TABS.map(tab)}
      </nav>
      <form role="search" onSubmit=${search}>
        <${ui.Field} id="search" type="search" autocomplete="off" spellcheck=${false} value=${route.query['q'] ?? ''}
          aria-label="Message id, recipient or event id" placeholder="Message id, recipient or event id" />
      </form>
      <button type="button" class=${`live dot ${tone}`} title="Press to pause or resume." onClick=${onPause}>${connection}</button>
      <button type="button" class="quiet help" aria-label="Keys" title="Keys" onClick=${help}>?</button>
    </header>
    <main id="main" tabindex="-1">
      ${problem && ui.problemBox(problem, true)}
      ${panel}
      ${
        session.storeAlone &&
        h`<p class="note">You see the store without its receiver. Counts over time, handlers and the quarantine exist only in the
          receiver’s process: mount the inspector in your app to see them.</p>`
      }
      ${
        Shown === undefined
          ? [
              ui.heading('Not found'),
              ui.empty('This view does not exist.', h`<a href="#/overview">To the overview</a>`),
            ]
          : createElement(Shown, { key: place, ...view })
      }
    </main>
    ${footer(session, toggleZone)}`

  function tab(name: (typeof TABS)[number]): Child {
    const current = route.view === 'event' || route.view === 'message' ? 'events' : route.view
    const [number, tone] =
      name === 'dead-letters' ? [deadLetters, 'bad'] : [name === 'quarantine' ? quarantined : 0, 'warn']
    return h`<a href=${href([name])} aria-current=${name === current ? 'page' : undefined}>
      ${titleOf(name)}${number > 0 && h`<span class=${`badge ${tone}`}>${ui.count(number)}</span>`}
    </a>`
  }
}

/** Polls the session while the page is visible, to learn whether the reader still has access and whether anything changed. */
function useSession(isPaused: boolean, refreshes: number) {
  const [session, setSession] = useState<Session>()
  const [problem, setProblem] = useState<NoAnswer>()
  const last = useRef('')
  useEffect(() => {
    if (isPaused) return undefined
    let isAsking = false
    async function look(): Promise<void> {
      if (document.hidden || isAsking) return
      isAsking = true
      try {
        const answer = await ask<Session>('api/session')
        // Views also reload with the answer after a change, because the server's data may be a second old.
        setSession({ ...answer, changes: `${last.current} ${answer.changes}` })
        last.current = answer.changes
        setProblem(undefined)
      } catch (error) {
        setProblem(asNoAnswer(error))
      }
      isAsking = false
    }
    const onLook = (): void => void look()
    onLook()
    const stop = every(ASK_EVERY_MS, onLook)
    document.addEventListener('visibilitychange', onLook)
    return () => {
      stop()
      document.removeEventListener('visibilitychange', onLook)
    }
  }, [isPaused, refreshes])
  return { session, problem }
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
    <p>messaging-webhooks ${version}, store ${store.name}${!store.durable && ', which loses its content when the process ends'}${storeAlone && ', without its receiver'}.
      ${who !== undefined && ` You are ${who}.`}
      ${!may.write && ' Read-only: you lack the right to write.'}
      ${!may.reveal && ' Numbers are shortened, and texts and bodies left out: you lack the right to reveal.'}</p>
    <p>Times are in ${ui.zone.isUtc ? 'UTC' : `your zone, ${local}`}. Hover for the full timestamp.${' '}
      ${local !== 'UTC' && h`<button type="button" class="link" onClick=${onZone}>Show ${ui.zone.isUtc ? 'local times' : 'UTC'}</button>`}</p>
  </footer>`
}

function useKeys(keys: readonly Key[]): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      const { target } = event
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (!(target instanceof HTMLElement) || target.closest('dialog[open]') !== null) return
      if (isField(target) && event.key === 'Escape') target.blur()
      const run = isField(target) ? undefined : keys.find(({ key }) => key === event.key)?.run
      if (run === undefined) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [keys])
}

function isField(element: Element | null): boolean {
  return element?.matches('input:not([type=checkbox]), select, textarea') === true
}

/** Selects a row by focus, so that it is visible, announced, and opened by Enter. */
function step(by: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')].filter((item) => item.offsetParent !== null)
  const row = rowOf(document.activeElement)
  const at = items.findIndex((item) => item === document.activeElement || (row !== null && rowOf(item) === row))
  items[at === -1 ? (by === 1 ? 0 : items.length - 1) : at + by]?.focus()
}

function tick(): void {
  rowOf(document.activeElement)?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
}

function rowOf(element: Element | null): Element | null {
  return element?.closest('tr, .timeline > li') ?? null
}
