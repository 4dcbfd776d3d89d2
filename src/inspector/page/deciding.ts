/** Makes changes: asks first, then shows the progress and the result of each item. */
import { render, type VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { DeadLetterResult, EventRow, Session } from '../routes.ts'
import { asNoAnswer, href, post, type NoAnswer, type Route } from './data.ts'
import { h, say, type Child } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

export interface View {
  readonly session: Session
  readonly route: Route
  /** Differs whenever something may have changed. */
  readonly changes: string
  readonly decide: (decision: Decision, targets: Targets) => void
  /** Makes every view reload. */
  readonly refresh: () => void
}

/**
 * Opens the dialog by `showModal` instead of an attribute, so that the rest of the page is inert. Resolves to the values of its
 * form if the reader presses the button `yes`, otherwise to undefined.
 */
export function openDialog(title: string, content: Child): Promise<FormData | undefined> {
  const dialog = document.createElement('dialog')
  dialog.ariaLabel = title
  document.body.append(dialog)
  render(h`<form method="dialog"><h2>${title}</h2>${content}</form>`, dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      const form = dialog.returnValue === 'yes' ? dialog.querySelector('form') : null
      resolve(form === null ? undefined : new FormData(form))
      dialog.remove()
    })
  })
}

interface Question {
  readonly title: string
  readonly text: string
  readonly yes: string
  readonly isGrave?: boolean
  /** An optional checkbox. */
  readonly option?: Child
}

/** Resolves to undefined if the reader cancels, else to whether the option is ticked. */
export async function confirm({ title, text, yes, isGrave = false, option }: Question): Promise<boolean | undefined> {
  const answer = await openDialog(
    title,
    h`<p>${text}</p>
      ${option && h`<p><label><input type="checkbox" name="option" /> ${option}</label></p>`}
      <div class="tools end">
        <button autofocus>Cancel</button>
        <button value="yes" class=${isGrave ? 'grave' : 'main'}>${yes}</button>
      </div>`,
  )
  return answer?.has('option')
}

export type Decision = 'replay' | 'discard'

export interface Targets {
  /** Such as `message.failed of m-1`, or `19 dead letters`. */
  readonly name: string
  readonly count: number
  readonly ids: () => Promise<readonly string[]>
}

interface Words extends Omit<Question, 'title'> {
  readonly done: string
}

const WORDS: Readonly<Record<Decision, Words>> = {
  replay: {
    yes: 'Replay',
    done: 'Will run again',
    text: 'The handlers run again soon, from the first attempt on.',
    option: h`Replay as if on time<br /><small>Otherwise an event is dispatched as <code>late</code> if its
      message has a newer report by now.</small>`,
  },
  discard: {
    yes: 'Discard',
    done: 'Discarded',
    text: 'Discarded events are never dispatched again. This cannot be undone.',
    isGrave: true,
  },
}

interface Work {
  readonly yes: string
  readonly total: number
  readonly results: readonly { readonly id: string; readonly text: string; readonly isDone: boolean }[]
  readonly problem?: NoAnswer
  readonly isOver: boolean
}

const A_BATCH = 100

/** `panel` shows the progress of a change. `leave` removes it once the change is complete. */
export function useDecisions(refresh: () => void) {
  const [work, setWork] = useState<Work>()

  async function run(decision: Decision, { name, ids: find }: Targets): Promise<void> {
    const { done, ...words } = WORDS[decision]
    const isForced = await confirm({ ...words, title: `${words.yes} ${name}?` })
    if (isForced === undefined) return
    const path = `api/dead-letters/${isForced ? 'force' : decision}`
    let state: Work = { yes: words.yes, total: 0, results: [], isOver: false }
    try {
      const ids = await find()
      state = { ...state, total: ids.length }
      for (let from = 0; from < ids.length; from += A_BATCH) {
        setWork(state)
        const answer = await post<DeadLetterResult>(path, { ids: ids.slice(from, from + A_BATCH) })
        const results = [
          ...state.results,
          ...answer.done.map((id) => ({ id, text: done, isDone: true })),
          ...answer.missing.map((id) => ({ id, text: 'No longer a dead letter', isDone: false })),
          ...answer.failed.map(({ id, why }) => ({ id, text: why, isDone: false })),
        ]
        state = { ...state, results }
      }
      setWork({ ...state, isOver: true })
    } catch (error) {
      setWork({ ...state, problem: asNoAnswer(error), isOver: true })
    }
    say(`${done}: ${ui.several(state.results.filter(({ isDone }) => isDone).length, 'event')}.`)
    refresh()
  }

  return {
    decide: (decision: Decision, targets: Targets): void => void run(decision, targets),
    panel: work && workPanel(work, () => setWork(undefined)),
    leave: (): void => setWork((now) => (now?.isOver === true ? undefined : now)),
  }
}

const MAX_LISTED = 500

function workPanel({ yes, total, results, problem, isOver }: Work, close: () => void): VNode | VNode[] {
  const summary = [...Map.groupBy(results, ({ text }) => text)].map(
    ([text, { length }]) => `${text}: ${ui.several(length, 'event')}.`,
  )
  const isWell = problem === undefined && results.every(({ isDone }) => isDone)
  const progress = h`<label>${yes}: ${ui.count(results.length)} of ${ui.several(total, 'event')}…
    <progress max=${total} value=${results.length} /></label>`
  const each = ({ id, text }: Work['results'][number]): Child =>
    h`<li key=${id}>${ui.code(id, href(['event', id]))} ${text}</li>`
  return h`<div class=${`note ${isWell ? 'good' : 'warn'}`}>
    ${!isOver && progress}
    ${
      isOver &&
      h`<div class="between"><span>${summary.join(' ')}</span><button type="button" onClick=${close}>Dismiss</button></div>
        ${problem && ui.problemBox(problem)}
        ${
          results.length > 0 &&
          h`<details><summary>Each event</summary><ul class="results">${results.slice(0, MAX_LISTED).map(each)}</ul></details>`
        }`
    }
  </div>`
}

/** The buttons of dead letters, for readers with the right. `names` tells screen readers what a button changes. */
export function decisions({ session, decide }: View, targets: Targets, names = targets.name, all = ''): Child {
  if (!session.may.write) return undefined
  const button = (decision: Decision): Child => {
    const { yes, isGrave = false } = WORDS[decision]
    return h`<button type="button" class=${isGrave ? 'grave' : ''} disabled=${targets.count === 0}
      aria-label=${`${yes} ${names}`} onClick=${() => decide(decision, targets)}>${yes}${all}</button>`
  }
  return [button('replay'), button('discard')]
}

export function decisionsOf(view: View, event: EventRow): Child {
  if (event.outcome !== 'dead') return undefined
  return decisions(view, { name: labels.nameOf(event), count: 1, ids: () => Promise.resolve([event.id]) })
}
