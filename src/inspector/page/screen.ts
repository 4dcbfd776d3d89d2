/** What a view is made of: what it asks for, when it asks again, and what it shows meanwhile. */
import type { Change, Session } from '../shapes.ts'
import { NoAnswer } from './asking.ts'
import { h, type Child, type Tree } from './elements.ts'
import type { Route } from './route.ts'

/** What is told apart from a view's own: asked before something is done that cannot be taken back. */
export interface Question {
  readonly title: string
  readonly text: readonly string[]
  readonly yes: string
  readonly isGrave: boolean
  readonly onYes: () => void
}

export interface Surroundings {
  readonly session: Session
  readonly route: Route
  /** Shows what has changed. */
  readonly show: () => void
  /** Says it to those who do not see it. */
  readonly say: (text: string) => void
  readonly askFirst: (question: Question) => void
}

export interface Screen {
  readonly title: string
  readonly content: () => Child
  readonly refresh: () => Promise<void>
  /** Whether it should ask again, and after how many milliseconds at the least since it asked last. */
  readonly staleAfterMs?: (change: Change) => number | undefined
}

/** What was asked for, the latest answer, and why there is no newer one. */
interface Asked<T> {
  readonly value: () => T | undefined
  /** The answer as `whole` shows it, what went wrong, or that it is on its way. */
  readonly answered: (whole: (value: T) => Child) => Child
  readonly refresh: () => Promise<void>
}

/** One question at a time; whoever asks meanwhile is answered by one more after it. */
export function asking<T>(ask: () => Promise<T>, show: () => void): Asked<T> {
  let value: T | undefined
  let problem: NoAnswer | undefined
  let running: Promise<void> | undefined
  let isAskedAgain = false

  async function run(): Promise<void> {
    try {
      value = await ask()
      problem = undefined
    } catch (error) {
      problem = asNoAnswer(error)
    }
    show()
  }

  function refresh(): Promise<void> {
    isAskedAgain = running !== undefined
    running ??= run().then(() => {
      running = undefined
      if (isAskedAgain) void refresh()
    })
    return running
  }

  return {
    value: () => value,
    answered(whole) {
      if (value === undefined) return problem === undefined ? waiting() : problemBox(problem)
      // That nobody answers is said above every view.
      return [problem && problem.status !== 0 && problemBox(problem, true), whole(value)]
    },
    refresh,
  }
}

export function asNoAnswer(error: unknown): NoAnswer {
  return error instanceof NoAnswer
    ? error
    : new NoAnswer(0, 'page_failed', error instanceof Error ? error.message : 'The page failed.')
}

/** What happened, and what to do. */
export function problemBox(problem: NoAnswer, isOld = false): Tree {
  return h(
    'div',
    { key: 'problem', class: 'note bad', role: 'alert' },
    h('strong', {}, headline(problem)),
    h('span', {}, ` ${problem.message} ${isOld ? 'What you see is from before. ' : ''}${todo(problem)}`),
  )
}

function headline({ status }: NoAnswer): string {
  if (status === 0) return 'No connection.'
  if (status === 401 || status === 403) return 'Not allowed.'
  return status === 404 ? 'Not found.' : 'That did not work.'
}

function todo({ status }: NoAnswer): string {
  if (status === 0) return 'Is the app running? It is asked again by itself.'
  if (status === 401 || status === 403) return 'Sign in to your app again, and reload.'
  if (status === 404) return 'Look for it among the events.'
  return 'Press r to ask again.'
}

/** Keeps the place of what is on its way, so that nothing jumps. */
function waiting(): Tree {
  return h(
    'div',
    { key: 'waiting', class: 'waiting', 'aria-busy': 'true' },
    h('p', { class: 'unseen' }, 'Loading'),
    h('i'),
    h('i'),
    h('i'),
  )
}

/** Says what is not there, and what to do. */
export function empty(title: string, ...todo: readonly Child[]): Tree {
  return h('div', { class: 'empty' }, h('p', { class: 'lead' }, title), ...todo.map((line) => h('p', {}, line)))
}

/** Where only a store is looked into. */
export function aloneNote(): Tree {
  return h(
    'p',
    { class: 'note' },
    'You look into the store alone. What only the process of its receiver knows is not seen from here: what came over time, its handlers, its quarantine. Mount the inspector in your app for that.',
  )
}

export function heading(text: string, ...more: readonly Child[]): Tree {
  return h('h1', { key: 'h1', tabindex: -1 }, text, ...more)
}

export function panel(title: string, ...content: readonly Child[]): Tree {
  return h('section', { key: title, class: 'panel', 'aria-label': title }, h('h2', {}, title), ...content)
}
