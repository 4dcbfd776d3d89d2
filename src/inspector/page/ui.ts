/** Elements shared by views: times, counts, badges, links, tables, errors, copy buttons. */
import htm from 'htm/mini'
import { createElement, type ComponentChildren, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { href, now, type Asked, type List, type NoAnswer, type Query } from './data.ts'

/** Markup as data. Text becomes a text node, so a sender's text is never parsed as markup. */
export const h = htm.bind(createElement)

export type Child = ComponentChildren

/** Announces a text to screen readers. */
export function say(text: string): void {
  const announcer = document.querySelector('#announced')
  if (announcer !== null) announcer.textContent = text
}

/** Whether times are shown in UTC. Kept for the next visit if the browser allows it. */
export const zone = {
  isUtc: stored() === 'utc',
  toggle(): boolean {
    zone.isUtc = !zone.isUtc
    stored(zone.isUtc ? 'utc' : 'local')
    return zone.isUtc
  },
}

function stored(change?: string): string | null {
  try {
    if (change !== undefined) localStorage.setItem('inspector-zone', change)
    return localStorage.getItem('inspector-zone')
  } catch {
    // The choice then lasts for this visit only.
    return null
  }
}

/** The date in ISO form, with the time in the displayed zone. */
export function inZone(at: Date): string {
  return new Date(at.getTime() - (zone.isUtc ? 0 : at.getTimezoneOffset() * 60_000)).toISOString()
}

/** Omits the date if it is today. */
export function clockTime(at: Date, withSeconds = true): string {
  const [day = '', time = ''] = inZone(at).split('T')
  const shown = time.slice(0, withSeconds ? 8 : 5)
  return inZone(new Date(now())).startsWith(day) ? shown : `${day} ${shown}`
}

export function time(iso: string | undefined, withAge = false): Child {
  if (iso === undefined) return undefined
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return iso
  return h`<time datetime=${iso} title=${`${iso.replace('T', ' ').replace('Z', '')} UTC`}>
    ${clockTime(at)}${withAge && h`<small> ${age(at)}</small>`}
  </time>`
}

export function age(at: Date): string {
  const ms = now() - at.getTime()
  if (Math.abs(ms) < 1_000) return 'now'
  const [largest = ''] = /^\S+ \S+/.exec(duration(Math.abs(ms))) ?? []
  return ms > 0 ? `${largest} ago` : `in ${largest}`
}

/** A duration in its two largest units. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 10) return `${seconds.toFixed(1).replace(/\.0$/, '')} s`
  let rest = Math.round(seconds)
  const units = [['d', 86_400], ['h', 3_600], ['min', 60], ['s', 1]] as const // prettier-ignore
  const first = units.findIndex(([, size]) => rest >= size)
  const parts = units.slice(first, first + 2).flatMap(([unit, size]) => {
    const whole = Math.floor(rest / size)
    rest -= whole * size
    return whole === 0 ? [] : `${whole} ${unit}`
  })
  return parts.join(' ')
}

const grouped = new Intl.NumberFormat('en')

export const count = (number: number): string => grouped.format(number)

/** `1 event`, `2 events`. */
export function several(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`
}

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB']

/** `169 B`, `16 KB`, with a no-break space. */
export function bytes(number: number): string {
  const power = number < 1_000 ? 0 : Math.min(Math.floor(Math.log10(number) / 3), BYTE_UNITS.length - 1)
  const value = number / 1_000 ** power
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)}\u00a0${BYTE_UNITS[power] ?? ''}`
}

/** Text between backticks is code. */
export function prose(text: string): Child {
  return text.split('`').map((part, index) => (index % 2 === 1 ? h`<code>${part}</code>` : part))
}

/** Text that may be long. The keyboard scrolls it. */
export function long(label: string, text: string): Child {
  return h`<pre tabindex="0" aria-label=${label}>${text}</pre>`
}

/** `missing` says why there is none for a reader with the right to reveal. */
export function payload(text: string | undefined, mayReveal: boolean, missing: string): Child {
  if (text !== undefined) return long('Payload', text)
  return quiet(mayReveal ? missing : 'Left out: you lack the right to reveal.')
}

/** The first line, with the stack behind a click. */
export function errorText(error: string): Child {
  const [first = '', ...rest] = error.split('\n')
  if (rest.length === 0) return h`<div class="error">${first}</div>`
  return h`<details class="error"><summary>${first}</summary>${long('Stack', rest.join('\n'))}</details>`
}

/** Without a clipboard, for example without TLS, shows the text to be copied with the keyboard. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): VNode | VNode[] {
  const [isCopied, setCopied] = useState(false)
  function copy(): void {
    const show = (): void => void prompt(`Copy ${what}`, text)
    // The type declares it, but it may be missing.
    const clipboard = (navigator as Partial<Navigator>).clipboard
    if (clipboard === undefined) show()
    else clipboard.writeText(text).then(() => setCopied(true), show)
  }
  return h`<button type="button" class="copy" aria-label=${`Copy ${what}`} title=${`Copy ${what}`}
    onClick=${copy} onBlur=${() => setCopied(false)}>
    ${isCopied ? 'Copied' : h`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M6 6h8v8H6zM3 10H2V2h8v1" /></svg>`}
  </button>`
}

/** Keeps what is typed: an input with `value` is overwritten at each rendering. */
export function Field({ value, ...rest }: { readonly value: string }): VNode | VNode[] {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (field.current !== null && field.current !== document.activeElement) field.current.value = value
  }, [value])
  return h`<input ref=${field} ...${rest} />`
}

export function code(id: string | undefined, address?: string): Child {
  if (id === undefined) return undefined
  return address === undefined
    ? h`<span class="id" title=${id}>${id}</span>`
    : h`<a class="id" href=${address} title=${id}>${id}</a>`
}

export function idText(id: string, what: string, address?: string): Child {
  return h`<span class="copied">${code(id, address)}<${CopyButton} text=${id} what=${what} /></span>`
}

export function badge(text: Child, tone = '', title?: string): Child {
  return h`<span class=${`badge ${tone}`} title=${title}>${text}</span>`
}

export function quiet(...text: readonly Child[]): Child {
  if (text.every((part) => part === undefined || part === '')) return undefined
  return h`<span class="quiet">${text}</span>`
}

/** Names and values. Omits those without a value. */
export function facts(rows: Readonly<Record<string, Child>>): Child {
  const known = Object.entries(rows).filter(([, value]) => value !== undefined && value !== '' && value !== false)
  return h`<dl class="facts">${known.map(([name, value]) => h`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

export type Column<T> = readonly [name: string, className: string, cell: (row: T) => Child]

interface TableOptions<T> {
  readonly caption: string
  readonly columns: readonly (Column<T> | false)[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly class?: string
  readonly isMarked?: (row: T) => boolean
}

/**
 * Omits a column in which no row has a value. A narrow page shows each row as a card; the explicit roles keep it a table for
 * all browsers.
 */
export function table<T>({ caption, columns, rows, keyOf, isMarked, ...given }: TableOptions<T>): Child {
  const shown = columns.filter((column) => column !== false).filter(([, , cell]) => rows.some(cell))
  return h`<table class=${given.class ?? 'cards rows'} role="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup"><tr role="row">
      ${shown.map(([title, name]) => h`<th scope="col" role="columnheader" class=${name}>${title}</th>`)}
    </tr></thead>
    <tbody role="rowgroup">${rows.map(
      (row) => h`<tr key=${keyOf(row)} role="row" class=${isMarked?.(row) === true ? 'marked' : undefined}>
        ${shown.map(([, name, cell]) => h`<td role="cell" class=${name}>${cell(row)}</td>`)}
      </tr>`,
    )}</tbody>
  </table>`
}

export const heading = (text: Child): Child => h`<h1 tabindex="-1">${text}</h1>`

export function panel(title: string, ...content: readonly Child[]): VNode | VNode[] {
  return h`<section key=${title} class="panel" aria-label=${title}><h2>${title}</h2>${content}</section>`
}

export function problems(
  title: string,
  rows: readonly { readonly key: string; readonly tone: string; readonly text: Child; readonly remedy: Child }[],
  above?: Child,
  below?: Child,
): Child {
  if (rows.length === 0) return undefined
  return h`<section key=${title} class="panel attention" aria-label=${title}>
    <div class="between"><h2>${title}</h2>${above}</div>
    <ul>${rows.map(
      ({ key, tone, text, remedy }) =>
        h`<li key=${key} class=${tone}><div>${text}</div><div class="do">${remedy}</div></li>`,
    )}</ul>
    ${below}
  </section>`
}

/** Links to the first and the next page, and the total. */
export function pages(
  { name, query, after }: Omit<List<unknown>, 'asked'>,
  next: string | undefined,
  [first, further]: readonly [first: string, further: string],
  ...more: readonly Child[]
): Child {
  return h`<nav class="pages" aria-label="Pages">
    ${after !== undefined && linkButton(`« ${first}`, [name], query)}
    ${next !== undefined && linkButton(`${further} »`, [name], { ...query, after: next })}
    ${more}
  </nav>`
}

export function empty(title: string, ...todo: readonly Child[]): Child {
  return h`<div class="empty"><p class="lead">${title}</p>${todo.map((line) => h`<p>${line}</p>`)}</div>`
}

const TO_DO: Readonly<Record<number, readonly [headline: string, todo: string]>> = {
  0: ['No connection.', 'Check that the app is running. The page retries by itself.'],
  401: ['Not allowed.', 'Sign in to your app again, and reload.'],
  403: ['Not allowed.', 'Sign in to your app again, and reload.'],
  404: ['Not found.', 'Search for it in the events.'],
}

export function problemBox({ status, message }: NoAnswer, isOld = false): Child {
  const [headline, todo] = TO_DO[status] ?? ['The request failed.', 'Press r to refresh.']
  return h`<div class="note bad" role="alert">
    <strong>${headline}</strong> ${message} ${isOld && 'The page shows earlier data. '}${todo}
  </div>`
}

/** Shows the answer with `whole`, the error, or a placeholder while loading. */
export function loaded<T>({ value, problem }: Asked<T>, whole: (value: T) => Child): Child {
  if (value !== undefined)
    return [problem !== undefined && problem.status !== 0 && problemBox(problem, true), whole(value)]
  if (problem !== undefined) return problemBox(problem)
  return h`<div class="waiting" aria-busy="true"><p class="unseen">Loading</p><i /><i /><i /></div>`
}

export function linkButton(text: Child, path: readonly string[], query: Query = {}, isCurrent = false): Child {
  return h`<a class="button" href=${href(path, query)} aria-current=${isCurrent ? 'true' : undefined}>${text}</a>`
}
