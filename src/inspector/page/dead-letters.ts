/** Events whose handlers failed in every attempt: by error, with what is to become of them. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { DeadLetterList } from '../shapes.ts'
import { idsOf, pick, queryOf, useAsked, type Query } from './data.ts'
import { filters } from './events.ts'
import { decisions, decisionsOf } from './deciding.ts'
import { h, type Child, type Targets, type View } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

const PATH = ['dead-letters']
const STALE_MS = 2_000

export function DeadLettersView(view: View): VNode | VNode[] {
  const query = pick(view.route.query, ['type', 'project', 'error', 'from', 'to'])
  const { after } = view.route.query
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const asked = useAsked<DeadLetterList>(`api/dead-letters${queryOf({ ...query, after })}`, () => STALE_MS)
  const mayWrite = view.session.may.write
  return h`${ui.heading('Dead letters')}${ui.readOnlyNote(view)}${ui.answered(asked, (list) => [
    groups(list, view, query),
    filters(view, PATH, query),
    list.items.length > 0
      ? [mayWrite && bar(list), letters(list)]
      : ui.empty(
          Object.keys(query).length > 0 || after !== undefined ? 'No dead letter matches.' : 'No dead letters.',
          'An event whose handlers fail in every attempt stays here until you replay or discard it.',
        ),
    ui.pages(
      PATH,
      query,
      { after, next: list.next },
      ['Newest', 'Older'],
      ui.quiet(
        `${ui.count(list.matching)} of ${ui.several(list.total, 'dead letter')}`,
        list.isCut && '; more come after these',
      ),
    ),
  ])}`

  function box(label: string, ids: readonly string[]): Child {
    const isChecked = ids.every((id) => chosen.has(id))
    const choose = (): void =>
      setChosen(isChecked ? new Set([...chosen].filter((id) => !ids.includes(id))) : new Set([...chosen, ...ids]))
    return h`<input type="checkbox" aria-label=${label} checked=${isChecked} onChange=${choose} />`
  }

  function bar({ items, matching }: DeadLetterList): Child {
    const listed = items.map(({ event }) => event.id)
    const here = listed.filter((id) => chosen.has(id))
    const selected = {
      name: ui.several(here.length, 'dead letter'),
      count: here.length,
      ids: () => Promise.resolve(here),
    }
    const isAll = matching > listed.length && here.length === listed.length
    return h`<div class="tools">
      <label>${box('All on this page', listed)} ${ui.several(here.length, 'selected', 'selected')}</label>
      ${decisions(view, selected, 'those selected')}
      ${isAll && h`<span>All ${ui.count(matching)} that match:</span>${decisions(view, matchingOf(query, matching), 'all that match', ' all')}`}
    </div>`
  }

  function letters({ items }: DeadLetterList): Child {
    return ui.table({
      caption: 'Dead letters, newest first',
      rows: items,
      keyOf: ({ event }) => event.id,
      isMarked: ({ event }) => chosen.has(event.id),
      class: 'cards letters',
      columns: [
        mayWrite && ['Selected', 'choose', ({ event }) => box(`Select ${labels.nameOf(event)}`, [event.id])],
        ['Died', 'when', ({ diedAt }) => ui.time(diedAt, true)],
        ['Event', 'what', ({ event }) => labels.eventLink(event, labels.typeName(event.type))],
        ['Project', 'project', ({ event }) => event.project],
        [
          'Message',
          'message',
          ({ event }) => [labels.messageLink(event), h`<small> ${ui.code(event.recipient)}</small>`],
        ],
        [
          'Error',
          'wide',
          ({ event }) =>
            ui.errorText(event.error ?? '', ui.quiet(` after ${ui.several(event.attempts ?? 0, 'attempt')}`)),
        ],
        mayWrite && ['Actions', 'do', ({ event }) => decisionsOf(view, event)],
      ],
    })
  }
}

function matchingOf(query: Query, matching: number): Targets {
  return { name: ui.several(matching, 'dead letter'), count: matching, ids: () => idsOf(query) }
}

function groups({ groups: all }: DeadLetterList, view: View, query: Query): Child {
  const isGroup = query['error'] !== undefined
  const rows = all.filter(({ id }) => !isGroup || id === query['error'])
  return ui.problems(
    'By error',
    rows.map(({ id, error, count: number, since, last }) => ({
      key: id,
      tone: 'bad',
      text: h`<p class="line" title=${error}><b>${ui.count(number)}×</b> ${error}</p>
        <small>since ${ui.time(since)}, last ${ui.time(last, true)}</small>`,
      remedy: [
        !isGroup && ui.linkButton('Show', PATH, { ...query, error: id }),
        decisions(view, matchingOf({ ...query, error: id }, number), `all: ${error}`, ' all'),
      ],
    })),
    isGroup && ui.linkButton('Show all errors', PATH, { ...query, error: undefined }),
    h`<p class="quiet">Fix the error; the log has the stack. Then replay.</p>`,
  )
}
