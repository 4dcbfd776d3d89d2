/** The inspector's page: the view that the address names, and what stands around it: navigation, search, connection, dialogs. */
import { createElement, render, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { DeadLetterResult, Session } from '../shapes.ts'
import {
  after,
  ask,
  asNoAnswer,
  go,
  href,
  listen,
  post,
  readRoute,
  useListener,
  type Connection,
  type News,
  type NoAnswer,
} from './data.ts'
import { DeadLettersView } from './dead-letters.ts'
import { EventsView } from './events.ts'
import { EventView, MessageView } from './message.ts'
import { OverviewView } from './overview.ts'
import {
  code,
  count,
  empty,
  h,
  heading,
  problemBox,
  prose,
  several,
  zone,
  type Child,
  type Decision,
  type Question,
  type Targets,
  type View,
} from './parts.ts'
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
const A_BATCH = 100
const MOST_LISTED = 500

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
  if (problem !== undefined) return h`<main>${heading('Inspector')}${problemBox(problem)}</main>`
  if (session === undefined) return h`<main aria-busy="true"></main>`
  function onSignedOut(refused: NoAnswer): void {
    setProblem(refused)
    after(5_000, start)
  }
  return h`<${Inspector} session=${session} onSession=${setSession} onSignedOut=${onSignedOut} />`
}

interface Work {
  readonly decision: string
  readonly total: number
  readonly results: readonly { readonly id: string; readonly text: string; readonly isDone: boolean }[]
  readonly problem?: NoAnswer
  readonly isOver: boolean
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
  const [work, setWork] = useState<Work>()
  const [, setTicks] = useState(0)
  const live = useRef<ReturnType<typeof listen>>(undefined)
  const isPaused = connection === 'paused'

  function hear({ deadLetters = 0, quarantined }: News): void {
    if (deadLetters > counts.deadLetters && connection === 'live') say(several(deadLetters, 'dead letter'))
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

  const place = `${route.view}/${route.id ?? ''}`
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${[route.id, titleOf(route.view)].filter((part) => part !== undefined).join(' · ')} · Inspector`
    if (!isFirst.current) {
      scrollTo(0, 0)
      setWork((now) => (now?.isOver === true ? undefined : now))
      // A reader who types goes on typing.
      if (!isField(document.activeElement)) document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
    }
    isFirst.current = false
  }, [place])

  async function run(decision: 'replay' | 'force' | 'discard', ids: readonly string[]): Promise<void> {
    const done = decision === 'discard' ? 'Discarded' : 'Will run again'
    const results: Work['results'][number][] = []
    const state = { decision: decision === 'discard' ? 'Discarding' : 'Replaying', total: ids.length }
    try {
      for (let from = 0; from < ids.length; from += A_BATCH) {
        setWork({ ...state, results: [...results], isOver: false })
        const batch = { ids: ids.slice(from, from + A_BATCH) }
        const answer = await post<DeadLetterResult>(`api/dead-letters/${decision}`, batch)
        results.push(
          ...answer.done.map((id) => ({ id, text: done, isDone: true })),
          ...answer.missing.map((id) => ({ id, text: 'No longer a dead letter', isDone: false })),
          ...answer.failed.map(({ id, why }) => ({ id, text: why, isDone: false })),
        )
      }
      setWork({ ...state, results, isOver: true })
    } catch (error) {
      setWork({ ...state, results, problem: asNoAnswer(error), isOver: true })
    }
    const succeeded = results.filter(({ isDone }) => isDone).length
    say(`${done}: ${several(succeeded, 'event')}.`)
    live.current?.refresh()
  }

  function decide(decision: Decision, { name, count: number, ids }: Targets): void {
    const what = number === 1 ? 'It' : 'They'
    setQuestion({
      title: `${decision === 'replay' ? 'Replay' : 'Discard'} ${name}?`,
      text:
        decision === 'replay'
          ? ['The handlers run again, soon and from the first attempt on.']
          : [`${what} will never be dispatched again. This cannot be undone.`],
      yes: decision === 'replay' ? 'Replay' : 'Discard',
      isGrave: decision === 'discard',
      ...(decision === 'replay' && {
        option: {
          label: 'Replay as if on time',
          what: 'Otherwise an event whose message has a newer report by now comes as `late`.',
        },
      }),
      onYes(isForced) {
        ids().then(
          (all) => run(isForced ? 'force' : decision, all),
          (error: unknown) =>
            setWork({ decision: '', total: 0, results: [], problem: asNoAnswer(error), isOver: true }),
        )
      },
    })
  }

  const view: View = { session, route, say, confirm: setQuestion, decide }
  useKeys({
    search: () => document.querySelector<HTMLInputElement>('#search')?.select(),
    help: () => setHelpOpen(true),
    refresh: () => live.current?.refresh(),
    pause: () => live.current?.hold(!isPaused),
    zone: toggleZone,
  })

  function toggleZone(): void {
    zone.set(!zone.isUtc)
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
      ${work && workPanel(work, () => setWork(undefined))}
      ${
        Shown === undefined
          ? [heading('Not found'), empty('There is no such view.', h`<a href="#/overview">To the overview</a>`)]
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
        ${titleOf(name)}${number > 0 && h`<span class=${`badge ${tone}`}>${count(number)}</span>`}
      </a>`
    const [label, tone, what] = CONNECTIONS[connection]
    return h`<header>
      <a class="brand" href="#/overview">Inspector</a>
      <nav aria-label="Views">
        ${link('overview')}${link('events')}
        ${link('dead-letters', counts.deadLetters, 'bad')}${link('quarantine', counts.quarantined, 'warn')}
      </nav>
      <form role="search" onSubmit=${search}>
        <input id="search" type="search" autocomplete="off" spellcheck=${false} value=${route.query['q'] ?? ''}
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

function search(event: Event): void {
  event.preventDefault()
  const q = document.querySelector<HTMLInputElement>('#search')?.value.trim() ?? ''
  if (q !== '') go(['events'], { q })
}

/** How far a change has come, and what became of each item. */
function workPanel({ decision, total, results, problem, isOver }: Work, close: () => void): Child {
  const texts = new Map<string, number>()
  for (const { text } of results) texts.set(text, (texts.get(text) ?? 0) + 1)
  const summary = [...texts].map(([text, number]) => `${text}: ${several(number, 'event')}.`).join(' ')
  const isWell = problem === undefined && results.every(({ isDone }) => isDone)
  const listed = results.slice(0, MOST_LISTED)
  return h`<div class=${`note ${isWell ? 'good' : 'warn'}`}>
    ${
      isOver
        ? h`<div class="between"><span>${summary}</span><button type="button" onClick=${close}>Dismiss</button></div>`
        : h`<label>${decision} ${count(results.length)} of ${several(total, 'event')}… <progress max=${total} value=${results.length} /></label>`
    }
    ${problem && problemBox(problem)}
    ${
      isOver &&
      listed.length > 0 &&
      h`<details><summary>Each of them</summary><ul class="results">${listed.map(
        ({ id, text }) => h`<li key=${id}>${code(id, href(['event', id]))} ${text}</li>`,
      )}</ul></details>`
    }
  </div>`
}

function footer({ version, store, may, who, storeAlone }: Session, onZone: () => void): Child {
  const rights = ['look', ...(may.write ? ['change'] : []), ...(may.reveal ? ['see numbers and bodies'] : [])]
  const listed = rights.length === 1 ? rights : [rights.slice(0, -1).join(', '), rights.at(-1)]
  const local = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return h`<footer>
    <p>messaging-webhooks ${version}, store ${store.name}${storeAlone && ', without its receiver'}.
      ${' '}${who === undefined ? 'You' : `${who}, you`} may ${listed.join(' and ')}.
      ${!may.reveal && ' Numbers and bodies are masked: you lack the right to reveal them.'}</p>
    <p>Times are in ${zone.isUtc ? 'UTC' : `your zone, ${local}`}. Hover for the full timestamp.${' '}
      <button type="button" class="link" onClick=${onZone}>Show ${zone.isUtc ? 'local times' : 'UTC'}</button></p>
  </footer>`
}

interface DialogProps {
  readonly isOpen: boolean
  readonly title: string
  readonly onClose: () => void
  readonly children?: Child
}

/** Opened by a call and no attribute, so that the rest of the page cannot be reached meanwhile. */
function Dialog({ isOpen, title, onClose, children }: DialogProps): VNode | VNode[] {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  return h`<dialog ref=${dialog} aria-label=${title} onClose=${onClose}>${isOpen && h`<h2>${title}</h2>${children}`}</dialog>`
}

interface QuestionProps {
  readonly question: Question | undefined
  readonly onAnswer: () => void
}

function QuestionDialog({ question, onAnswer }: QuestionProps): VNode | VNode[] {
  const option = useRef<HTMLInputElement>(null)
  function yes(): void {
    const isTicked = option.current?.checked === true
    onAnswer()
    question?.onYes(isTicked)
  }
  return h`<${Dialog} isOpen=${question !== undefined} title=${question?.title ?? ''} onClose=${onAnswer}>
    ${question?.text.map((line) => h`<p>${prose(line)}</p>`)}
    ${question?.option && h`<p><label><input ref=${option} type="checkbox" /> ${question.option.label}</label><br /><small>${prose(question.option.what)}</small></p>`}
    <div class="tools end">
      <button type="button" autofocus onClick=${onAnswer}>Cancel</button>
      <button type="button" class=${question?.isGrave === true ? 'grave' : 'main'} onClick=${yes}>${question?.yes}</button>
    </div>
  <//>`
}

const KEYS = [
  ['j', 'Next row'],
  ['k', 'Previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['/', 'Search'],
  ['o', 'Overview'],
  ['e', 'Events'],
  ['d', 'Dead letters'],
  ['q', 'Quarantine'],
  ['r', 'Refresh'],
  ['p', 'Pause, or go on'],
  ['u', 'UTC or local time'],
  ['?', 'This help'],
] as const

type Key = (typeof KEYS)[number][0]
type Actions = Readonly<Record<'search' | 'help' | 'refresh' | 'pause' | 'zone', () => void>>

function useKeys({ search: toSearch, help, refresh, pause, zone: toZone }: Actions): void {
  const actions: Readonly<Record<Exclude<Key, 'Enter'>, () => void>> = {
    j: () => step(1),
    k: () => step(-1),
    x: () => rowOf(document.activeElement)?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click(),
    '/': toSearch,
    o: () => go(['overview']),
    e: () => go(['events']),
    d: () => go(['dead-letters']),
    q: () => go(['quarantine']),
    r: refresh,
    p: pause,
    u: toZone,
    '?': help,
  }
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    function hear(event: KeyboardEvent): void {
      const { target, key } = event
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (!(target instanceof HTMLElement) || target.closest('dialog[open]') !== null) return
      if (isField(target) && key === 'Escape') target.blur()
      if (isField(target) || !isAction(key)) return
      event.preventDefault()
      latest.current[key]()
    }
    const isAction = (key: string): key is keyof typeof actions => Object.hasOwn(latest.current, key)
    document.addEventListener('keydown', hear)
    return () => document.removeEventListener('keydown', hear)
  }, [])
}

function isField(element: Element | null): boolean {
  return element?.matches('input:not([type=checkbox]), select, textarea') === true
}

/** The focus is the selected row: it is seen, announced, and opened by Enter without any help. */
function step(by: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')].filter((item) => item.offsetParent !== null)
  const row = rowOf(document.activeElement)
  const at = items.findIndex((item) => item === document.activeElement || (row !== null && rowOf(item) === row))
  items[at === -1 ? (by === 1 ? 0 : items.length - 1) : at + by]?.focus()
}

function rowOf(element: Element | null): Element | null {
  return element?.closest('tr, .timeline > li') ?? null
}
