/** Confirmation and progress of changes. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { VNode } from 'preact'
import type { DeadLetterResult, EventRow } from '../shapes.ts'
import { asNoAnswer, href, post, type NoAnswer } from './data.ts'
import { h, type Child, type Decision, type Question, type Targets, type View } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

const A_BATCH = 100
const MOST_LISTED = 500

interface DialogProps {
  readonly isOpen: boolean
  readonly title: string
  readonly onClose: () => void
  readonly children?: Child
}

/** Opened by a call rather than an attribute, so that the rest of the page is inert. */
export function Dialog({ isOpen, title, onClose, children }: DialogProps): VNode | VNode[] {
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

export function QuestionDialog({ question, onAnswer }: QuestionProps): VNode | VNode[] {
  const option = useRef<HTMLInputElement>(null)
  function yes(): void {
    const isTicked = option.current?.checked === true
    onAnswer()
    question?.onYes(isTicked)
  }
  return h`<${Dialog} isOpen=${question !== undefined} title=${question?.title ?? ''} onClose=${onAnswer}>
    <p>${question?.text}</p>
    ${question?.option && h`<p><label><input ref=${option} type="checkbox" /> ${question.option.label}</label><br /><small>${ui.prose(question.option.what)}</small></p>`}
    <div class="tools end">
      <button type="button" autofocus onClick=${onAnswer}>Cancel</button>
      <button type="button" class=${question?.isGrave === true ? 'grave' : 'main'} onClick=${yes}>${question?.yes}</button>
    </div>
  <//>`
}

interface Work {
  readonly doing: string
  readonly total: number
  readonly results: readonly { readonly id: string; readonly text: string; readonly isDone: boolean }[]
  readonly problem?: NoAnswer
  readonly isOver: boolean
}

type Words = Pick<Question, 'yes' | 'text' | 'option'> & { readonly doing: string; readonly done: string }

const WORDS: Readonly<Record<Decision, Words>> = {
  replay: {
    yes: 'Replay',
    doing: 'Replaying',
    done: 'Will run again',
    text: 'The handlers run again, soon and from the first attempt on.',
    option: {
      label: 'Replay as if on time',
      what: 'Otherwise an event whose message has a newer report by now comes as `late`.',
    },
  },
  discard: {
    yes: 'Discard',
    doing: 'Discarding',
    done: 'Discarded',
    text: 'Discarded events are never dispatched again. This cannot be undone.',
  },
}

/** `panel` shows the progress of a change. `leave` removes it once the change is complete. */
export function useDecisions({ confirm, say, refresh }: Pick<View, 'confirm' | 'say' | 'refresh'>) {
  const [work, setWork] = useState<Work>()

  async function run({ doing, done }: Words, change: Decision | 'force', ids: readonly string[]): Promise<void> {
    const results: Work['results'][number][] = []
    const state = { doing, total: ids.length }
    try {
      for (let from = 0; from < ids.length; from += A_BATCH) {
        setWork({ ...state, results: [...results], isOver: false })
        const batch = { ids: ids.slice(from, from + A_BATCH) }
        const answer = await post<DeadLetterResult>(`api/dead-letters/${change}`, batch)
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
    say(`${done}: ${ui.several(succeeded, 'event')}.`)
    refresh()
  }

  function decide(decision: Decision, { name, ids }: Targets): void {
    const words = WORDS[decision]
    confirm({
      ...words,
      title: `${words.yes} ${name}?`,
      isGrave: decision === 'discard',
      onYes(isForced) {
        ids().then(
          (all) => run(words, isForced ? 'force' : decision, all),
          (error: unknown) => setWork({ doing: '', total: 0, results: [], problem: asNoAnswer(error), isOver: true }),
        )
      },
    })
  }

  return {
    decide,
    panel: work && workPanel(work, () => setWork(undefined)),
    leave: (): void => setWork((now) => (now?.isOver === true ? undefined : now)),
  }
}

/** The progress of a change, and the result of each item. */
function workPanel({ doing, total, results, problem, isOver }: Work, close: () => void): Child {
  const texts = new Map<string, number>()
  for (const { text } of results) texts.set(text, (texts.get(text) ?? 0) + 1)
  const summary = [...texts].map(([text, number]) => `${text}: ${ui.several(number, 'event')}.`).join(' ')
  const isWell = problem === undefined && results.every(({ isDone }) => isDone)
  const listed = results.slice(0, MOST_LISTED)
  return h`<div class=${`note ${isWell ? 'good' : 'warn'}`}>
    ${
      isOver
        ? h`<div class="between"><span>${summary}</span><button type="button" onClick=${close}>Dismiss</button></div>`
        : h`<label>${doing} ${ui.count(results.length)} of ${ui.several(total, 'event')}… <progress max=${total} value=${results.length} /></label>`
    }
    ${problem && ui.problemBox(problem)}
    ${
      isOver &&
      listed.length > 0 &&
      h`<details><summary>Each of them</summary><ul class="results">${listed.map(
        ({ id, text }) => h`<li key=${id}>${ui.code(id, href(['event', id]))} ${text}</li>`,
      )}</ul></details>`
    }
  </div>`
}

/** The buttons of a dead letter, for readers with the right. */
export function decisions({ session, decide }: View, targets: Targets, names = targets.name, all = ''): Child {
  if (!session.may.write) return undefined
  const button = (decision: Decision, label: string): Child =>
    h`<button type="button" class=${decision === 'discard' ? 'grave' : ''} disabled=${targets.count === 0}
      aria-label=${`${label} ${names}`} onClick=${() => decide(decision, targets)}>${label}${all}</button>`
  return [button('replay', 'Replay'), button('discard', 'Discard')]
}

export function decisionsOf(view: View, event: EventRow): Child {
  if (event.outcome !== 'dead') return undefined
  return decisions(view, { name: labels.nameOf(event), count: 1, ids: () => Promise.resolve([event.id]) })
}
