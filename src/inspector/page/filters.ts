/** What the events are filtered by. Each change goes into the address at once; nothing needs to be sent off. */
import { h, type Child, type Tree } from './elements.ts'
import { OUTCOME_LABELS } from './parts.ts'
import { href, type Query } from './route.ts'
import type { Surroundings } from './screen.ts'

const NAMES = ['type', 'project', 'channel', 'carrier', 'outcome', 'from', 'to', 'q'] as const

export function queryOfFilters(query: URLSearchParams): Query {
  return Object.fromEntries(NAMES.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? '']] : [])))
}

export function isFiltered(query: Query): boolean {
  return Object.keys(query).length > 0
}

/** A phone has no room for them until they are asked for. */
const isWide = matchMedia('(min-width: 44rem)').matches

type Choice = string | readonly [value: string, label: string]

export function filters({ session }: Surroundings, query: Query): Tree {
  const go = (name: string, value: string): void => {
    location.hash = href(['events'], { ...query, [name]: value })
  }
  const choose = (name: string, label: string, choices: readonly Choice[]): Tree => {
    const chosen = query[name] ?? ''
    const known = choices.map((choice) => (typeof choice === 'string' ? ([choice, choice] as const) : choice))
    const all =
      known.some(([value]) => value === chosen) || chosen === '' ? known : [...known, [chosen, chosen] as const]
    return field(
      name,
      label,
      h(
        'select',
        {
          id: `filter-${name}`,
          value: chosen,
          onchange: ({ target }) => target instanceof HTMLSelectElement && go(name, target.value),
        },
        h('option', { value: '' }, 'any'),
        all.map(([value, text]) => h('option', { key: value, value }, text)),
      ),
    )
  }
  const write = (
    name: string,
    label: string,
    type: 'text' | 'datetime-local',
    value: string,
    read: (text: string) => string,
  ): Tree =>
    field(
      name,
      label,
      h('input', {
        id: `filter-${name}`,
        type,
        value,
        size: 10,
        step: type === 'datetime-local' && 1,
        onchange: ({ target }) => target instanceof HTMLInputElement && go(name, read(target.value)),
      }),
    )
  const active = Object.keys(query).filter((name) => name !== 'q').length
  return h(
    'details',
    { key: 'filters', class: 'filters', open: isWide },
    h('summary', {}, active === 0 ? 'Filters' : `Filters (${active})`),
    h(
      'form',
      { 'aria-label': 'Filters', onsubmit: (event) => event.preventDefault() },
      choose('type', 'Type', session.types),
      choose('outcome', 'Outcome', OUTCOME_LABELS),
      session.projects.length > 1 && choose('project', 'Project', session.projects),
      write('channel', 'Channel', 'text', query['channel'] ?? '', (text) => text.trim()),
      choose('carrier', 'Carrier', session.carriers),
      write('from', 'From', 'datetime-local', toLocal(query['from']), fromLocal),
      write('to', 'To', 'datetime-local', toLocal(query['to']), fromLocal),
      query['q'] !== undefined && write('q', 'Search', 'text', query['q'], (text) => text.trim()),
      isFiltered(query) && h('a', { class: 'button', href: href(['events']) }, 'Clear'),
    ),
  )
}

function field(name: string, label: string, control: Child): Tree {
  return h('div', { key: name, class: 'field' }, h('label', { for: `filter-${name}` }, label), control)
}

/** As such an input has it: in the reader's zone, without naming it. */
function toLocal(iso: string | undefined): string {
  const at = new Date(iso ?? Number.NaN)
  if (Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

function fromLocal(text: string): string {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}
