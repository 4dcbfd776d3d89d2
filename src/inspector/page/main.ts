/** The inspector's page: finds the view that the address names, and keeps it as new as what it shows. */
import type { Change, Overview, Session } from '../shapes.ts'
import { askSession } from './asking.ts'
import { after, now, pause } from './clock.ts'
import { deadLettersScreen } from './dead-letters.ts'
import { h, patch, type Tree } from './elements.ts'
import { eventScreen } from './event.ts'
import { eventsScreen } from './events.ts'
import { hearKeys } from './keys.ts'
import { listen } from './live.ts'
import { messageScreen } from './message.ts'
import { overviewScreen } from './overview.ts'
import { quarantineScreen } from './quarantine.ts'
import { href, readRoute, type Route } from './route.ts'
import { asNoAnswer, empty, heading, problemBox, type Question, type Screen, type Surroundings } from './screen.ts'
import { openDialogs, shell } from './shell.ts'
import { several } from './words.ts'

/** A view that is asked for takes the place of the other once it has its answer, or after this long without. */
const PATIENCE_MS = 200

const app = document.querySelector('#app')
const said = document.querySelector('#said')
if (app !== null && said !== null) void run(app, said)

async function run(root: Element, announcer: Element): Promise<void> {
  let session: Session
  try {
    session = await askSession()
  } catch (error) {
    patch(root, [h('main', {}, heading('Inspector'), problemBox(asNoAnswer(error)))])
    void after(5_000, () => void run(root, announcer))
    return
  }
  inspect(session, root, announcer)
}

function inspect(session: Session, root: Element, announcer: Element): void {
  let route = readRoute(location.hash)
  let screen: Screen | undefined
  /** The one that was asked for last; it is shown soon. */
  let latest: Screen | undefined
  let question: Question | undefined
  let isHelpOpen = false
  let deadLetters: number | undefined
  let quarantined = 0
  let askedAtMs = 0
  /** Of what will be asked again soon. */
  let cancelAsking: (() => void) | undefined
  let isDrawing = false
  let lastOverview = ''

  /** Once, however many ask for it at once. */
  function show(): void {
    if (isDrawing) return
    isDrawing = true
    queueMicrotask(draw)
  }

  function draw(): void {
    isDrawing = false
    const connection = live.connection()
    const tree: readonly Tree[] = shell(
      {
        session,
        route,
        connection,
        deadLetters,
        quarantined,
        isHelpOpen,
        question,
        onPause: () => live.togglePause(),
        onHelp(isOpen) {
          isHelpOpen = isOpen
          show()
        },
        onAnswer(isYes) {
          const answered = question
          question = undefined
          show()
          if (isYes) answered?.onYes()
        },
      },
      screen?.content(),
    )
    patch(root, tree)
    openDialogs()
  }

  function say(text: string): void {
    announcer.textContent = text
  }

  function hearOverview(overview: Overview): void {
    ;({ deadLetters } = overview)
    quarantined = Object.values(overview.quarantine).reduce((all, one) => all + one, 0)
    show()
  }

  async function go(): Promise<void> {
    const next = readRoute(location.hash)
    const opened = screenOf(next, { session, route: next, show, say, askFirst }, hearOverview)
    const isFirst = screen === undefined
    // Whoever chooses a filter goes on from there.
    const isElsewhere = next.path.join() !== route.path.join() || next.query.get('after') !== route.query.get('after')
    latest = opened
    cancelAsking?.()
    cancelAsking = undefined
    const refreshed = refresh()
    route = next
    await Promise.race([refreshed, pause(PATIENCE_MS)])
    if (route !== next) return
    screen = opened
    document.title = `${opened.title} · Inspector`
    draw()
    if (isFirst) return
    if (!isElsewhere) {
      say(opened.title)
      return
    }
    scrollTo(0, 0)
    document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }

  function askFirst(asked: Question): void {
    question = asked
    show()
  }

  function refresh(): Promise<void> {
    askedAtMs = now()
    return latest?.refresh() ?? Promise.resolve()
  }

  /** Asks again, but no sooner than the view wants to. */
  function onChange(change: Change): void {
    if ((change.deadLetters ?? 0) > (deadLetters ?? 0)) say(several(change.deadLetters ?? 0, 'dead letter'))
    deadLetters = change.deadLetters ?? deadLetters
    quarantined = change.quarantined
    show()
    const staleAfterMs = latest?.staleAfterMs?.(change)
    if (staleAfterMs === undefined || cancelAsking !== undefined) return
    cancelAsking = after(Math.max(0, askedAtMs + staleAfterMs - now()), () => {
      cancelAsking = undefined
      if (!document.hidden && live.connection() !== 'paused') void refresh()
    })
  }

  const live = listen({
    onConnection(connection) {
      if (connection === 'lost') say('No connection to the server.')
      if (connection === 'live') say('Connected.')
      show()
    },
    onChange,
    onGap: () => void refresh(),
    onOverview(overview) {
      hearOverview(overview)
      const { counts, backlog, deadLetters: dead } = overview
      const text = JSON.stringify([counts, backlog, dead, quarantined])
      if (text !== lastOverview) onChange({ counts, backlog, quarantined, events: [], messages: [], many: true })
      lastOverview = text
    },
  })
  window.addEventListener('hashchange', () => void go())
  hearKeys({
    search: () => document.querySelector<HTMLInputElement>('#search')?.select(),
    help() {
      isHelpOpen = true
      show()
    },
    refresh: () => void refresh(),
    togglePause: () => live.togglePause(),
    go(view) {
      location.hash = href([view])
    },
  })
  void go()
}

function screenOf(route: Route, around: Surroundings, hearOverview: (overview: Overview) => void): Screen {
  const [view = 'overview', id] = route.path
  if (view === 'overview') return overviewScreen(around, hearOverview)
  if (view === 'events') return eventsScreen(around)
  if (view === 'event' && id !== undefined) return eventScreen(around, id)
  if (view === 'message' && id !== undefined) return messageScreen(around, id)
  if (view === 'dead-letters') return deadLettersScreen(around)
  if (view === 'quarantine') return quarantineScreen(around)
  return {
    title: 'Not found',
    refresh: () => Promise.resolve(),
    content: () => [
      heading('Not found'),
      empty('There is no such view.', [h('a', { href: href(['overview']) }, 'To the overview')]),
    ],
  }
}
