/** Filters of a list. Each change goes into the address at once. */
import type { Session } from '../shapes.ts'
import { go, href, now, type List, type Query, valueOf } from './data.ts'
import { h, type Child } from './ui.ts'
import * as labels from './labels.ts'
import * as ui from './ui.ts'

type Choices = readonly (readonly [value: string, label: string])[]

const PERIODS = [['900', '15 min'], ['3600', '1 h'], ['86400', '24 h'], ['604800', '7 days']] as const // prettier-ignore

/** The choices of a filter by its name. A filter without choices is a text field. */
const CHOICES: Readonly<Record<string, (session: Session) => Choices>> = {
  type: ({ types }) => types.map(same),
  outcome: () => Object.entries(labels.OUTCOMES).map(([name, [label]]) => [name, label]),
  project: ({ projects }) => projects.map(same),
  carrier: ({ carriers }) => carriers.map(same),
}

function same(name: string): readonly [string, string] {
  return [name, name]
}

/** A phone shows them on request. */
const isWide = matchMedia('(min-width: 44rem)').matches

export function filters({ name: list, query }: List<unknown>, names: readonly string[], session: Session): Child {
  const change =
    (read: (value: string) => Query) =>
    ({ currentTarget }: Event): void =>
      go([list], { ...query, ...read(valueOf(currentTarget)) })

  function control(name: string): Child {
    const chosen = query[name] ?? ''
    const choices = CHOICES[name]?.(session)
    const onChange = change((value) => ({ [name]: value }))
    if (choices === undefined)
      return h`<${ui.Field} id=${`filter-${name}`} size="10" value=${chosen} onChange=${onChange} />`
    const isKnown = chosen === '' || choices.some(([value]) => value === chosen)
    return select(name, 'any', isKnown ? choices : [...choices, same(chosen)], chosen, onChange)
  }

  const moment = (name: string): Child =>
    h`<${ui.Field} id=${`filter-${name}`} type="datetime-local" step="1" value=${toField(query[name] ?? '')}
      onChange=${change((value) => ({ [name]: fromField(value) }))} />`
  const ofLast = change((seconds) => ({
    from: new Date(now() - Number(seconds) * 1_000).toISOString(),
    to: undefined,
  }))
  const active = Object.keys(query).filter((name) => name !== 'q').length
  return h`<details class="filters" open=${isWide}>
    <summary>${active === 0 ? 'Filters' : `Filters (${active})`}</summary>
    <form aria-label="Filters" onSubmit=${(event: Event) => event.preventDefault()}>
      ${names.map((name) => field(name, name.charAt(0).toUpperCase() + name.slice(1), control(name)))}
      ${field('from', 'Start', moment('from'))}
      ${field('to', 'End', moment('to'))}
      ${field('period', 'Period', select('period', 'choose', PERIODS, '', ofLast))}
      ${Object.keys(query).length > 0 && h`<a class="button" href=${href([list])}>Clear</a>`}
    </form>
  </details>`
}

function field(name: string, label: string, control: Child): Child {
  return h`<div class="field" key=${name}><label for=${`filter-${name}`}>${label}</label>${control}</div>`
}

function select(name: string, none: string, choices: Choices, chosen: string, onChange: (event: Event) => void): Child {
  return h`<select id=${`filter-${name}`} value=${chosen} onChange=${onChange}>
    <option value="" selected=${chosen === ''}>${none}</option>
    ${choices.map(([value, text]) => h`<option value=${value} selected=${value === chosen}>${text}</option>`)}
  </select>`
}

/** The value of such a field: in the displayed zone, without naming it. */
function toField(iso: string): string {
  const at = new Date(iso)
  return Number.isNaN(at.getTime()) ? '' : ui.inZone(at).slice(0, 19)
}

function fromField(text: string): string {
  const at = new Date(ui.zone.isUtc && text !== '' ? `${text}Z` : text)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}
