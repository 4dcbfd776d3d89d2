/** Keyboard: a key for each view, and selecting and opening rows. */
import { useEffect, useRef } from 'preact/hooks'
import { go } from './data.ts'

export const KEYS = [
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

export function useKeys({ search: toSearch, help, refresh, pause, zone: toZone }: Actions): void {
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
    function onKey(event: KeyboardEvent): void {
      const { target, key } = event
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (!(target instanceof HTMLElement) || target.closest('dialog[open]') !== null) return
      if (isField(target) && key === 'Escape') target.blur()
      if (isField(target) || !isAction(key)) return
      event.preventDefault()
      latest.current[key]()
    }
    const isAction = (key: string): key is keyof typeof actions => Object.hasOwn(latest.current, key)
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

export function isField(element: Element | null): boolean {
  return element?.matches('input:not([type=checkbox]), select, textarea') === true
}

/** The focus is the selected row, so that it is visible, announced, and opened by Enter. */
function step(by: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')].filter((item) => item.offsetParent !== null)
  const row = rowOf(document.activeElement)
  const at = items.findIndex((item) => item === document.activeElement || (row !== null && rowOf(item) === row))
  items[at === -1 ? (by === 1 ? 0 : items.length - 1) : at + by]?.focus()
}

function rowOf(element: Element | null): Element | null {
  return element?.closest('tr, .timeline > li') ?? null
}
