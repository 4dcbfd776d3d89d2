/** Events whose handlers failed in every attempt: by error, with what is to become of them. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { DeadLetterList } from '../shapes.ts'
import { idsOf, queryOf, useAsked, type Query } from './data.ts'
import { filters } from './events.ts'
import {
  answered,
  code,
  count,
  decisions,
  decisionsOf,
  empty,
  errorText,
  eventLink,
  h,
  heading,
  linkButton,
  messageLink,
  nameOf,
  quiet,
  several,
  table,
  time,
  typeName,
  type Child,
  type Targets,
  type View,
} from './parts.ts'

type Letter = DeadLetterList['items'][number]

const STALE_MS = 2_000
const NAMES = ['type', 'project', 'error', 'from', 'to'] as const

export function DeadLettersView(view: View): VNode | VNode[] {
  const { query: given } = view.route
  const query: Query = Object.fromEntries(NAMES.flatMap((name) => (given[name] ? [[name, given[name]]] : [])))
  const { after } = given
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const asked = useAsked<DeadLetterList>(`api/dead-letters${queryOf({ ...query, after })}`, () => STALE_MS)
  const mayWrite = view.session.may.write
  return h`${heading('Dead letters')}
    ${!mayWrite && h`<p class="quiet">Read-only: you lack the right to write.</p>`}
    ${answered(asked, (list) => [
      groups(list, view, query),
      filters(view, ['dead-letters'], query),
      list.items.length === 0
        ? empty(
            Object.keys(query).length > 0 || after !== undefined ? 'No dead letter matches.' : 'No dead letters.',
            'An event whose handlers fail in every attempt stays here until you replay or discard it.',
          )
        : [mayWrite && bar(list), letters(list)],
      h`<nav class="pages" aria-label="Pages">
        ${after !== undefined && linkButton('« Newest', ['dead-letters'], query)}
        ${list.next !== undefined && linkButton('Older »', ['dead-letters'], { ...query, after: list.next })}
        ${quiet(`${count(list.matching)} of ${several(list.total, 'dead letter')}`, list.isCut && '; more come after these')}
      </nav>`,
    ])}`

  function choose(ids: readonly string[], isChosen: boolean): void {
    const next = new Set(chosen)
    for (const id of ids)
      if (isChosen) next.add(id)
      else next.delete(id)
    setChosen(next)
  }

  function box(label: string, ids: readonly string[]): Child {
    const isChecked = ids.every((id) => chosen.has(id))
    return h`<input type="checkbox" aria-label=${label} checked=${isChecked}
      onChange=${({ currentTarget }: Event) => choose(ids, currentTarget instanceof HTMLInputElement && currentTarget.checked)} />`
  }

  function bar({ items, matching }: DeadLetterList): Child {
    const listed = items.map(({ event }) => event.id)
    const here = listed.filter((id) => chosen.has(id))
    const selected: Targets = {
      name: several(here.length, 'dead letter'),
      count: here.length,
      ids: () => Promise.resolve(here),
    }
    const isAll = matching > listed.length && here.length === listed.length
    return h`<div class="tools">
      <label>${box('All on this page', listed)} ${several(here.length, 'selected', 'selected')}</label>
      ${decisions(view, selected, 'those selected')}
      ${isAll && h`<span>All ${count(matching)} that match:</span>${decisions(view, matchingOf(query, matching), 'all that match', ' all')}`}
    </div>`
  }

  function letters({ items }: DeadLetterList): Child {
    return table<Letter>({
      caption: 'Dead letters, newest first',
      rows: items,
      keyOf: ({ event }) => event.id,
      isMarked: ({ event }) => chosen.has(event.id),
      class: 'cards letters',
      columns: [
        mayWrite && ['Selected', 'choose', ({ event }) => box(`Select ${nameOf(event)}`, [event.id])],
        ['Died', 'when', ({ diedAt }) => time(diedAt, true)],
        ['Event', 'what', ({ event }) => eventLink(event, typeName(event.type))],
        ['Project', 'project', ({ event }) => event.project],
        [
          'Message',
          'message',
          ({ event }) => [messageLink(event) ?? code(event.about), h`<small> ${code(event.recipient)}</small>`],
        ],
        [
          'Error',
          'wide',
          ({ event }) => errorText(event.error ?? '', quiet(` after ${several(event.attempts ?? 0, 'attempt')}`)),
        ],
        mayWrite && ['Actions', 'do', ({ event }) => decisionsOf(view, event)],
      ],
    })
  }
}

function matchingOf(query: Query, matching: number): Targets {
  return { name: several(matching, 'dead letter'), count: matching, ids: () => idsOf(query) }
}

function groups({ groups: all }: DeadLetterList, view: View, query: Query): Child {
  if (all.length === 0) return undefined
  const isGroup = query['error'] !== undefined
  return h`<section class="panel attention" aria-label="By error">
    <div class="between"><h2>By error</h2>${isGroup && linkButton('Show all errors', ['dead-letters'], { ...query, error: undefined })}</div>
    <ul>${all
      .filter(({ id }) => !isGroup || id === query['error'])
      .map(
        ({ id, error, count: number, since, last }) => h`<li key=${id} class="bad">
        <div><p class="line" title=${error}><b>${count(number)}×</b> ${error}</p>
          <small>since ${time(since)}, last ${time(last, true)}</small></div>
        <div class="do">
          ${!isGroup && linkButton('Show', ['dead-letters'], { ...query, error: id })}
          ${decisions(view, matchingOf({ ...query, error: id }, number), `all: ${error}`, ' all')}
        </div>
      </li>`,
      )}</ul>
    <p class="quiet">Fix the error; the log has the stack. Then replay.</p>
  </section>`
}
