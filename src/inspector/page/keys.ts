/** Keyboard: selecting and opening rows, and the keys of the page. */
import { useEffect } from 'preact/hooks'

export interface Key {
  readonly key: string
  readonly what: string
  /** Absent if the browser handles the key. */
  readonly run?: () => void
}

export const ROW_KEYS: readonly Key[] = [
  { key: 'j', what: 'Next row', run: () => step(1) },
  { key: 'k', what: 'Previous row', run: () => step(-1) },
  { key: 'Enter', what: 'Open the row' },
  { key: 'x', what: 'Select the row', run: tick },
]

export function useKeys(keys: readonly Key[]): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      const { target } = event
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (!(target instanceof HTMLElement) || target.closest('dialog[open]') !== null) return
      if (isField(target) && event.key === 'Escape') target.blur()
      const run = isField(target) ? undefined : keys.find(({ key }) => key === event.key)?.run
      if (run === undefined) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [keys])
}

export function isField(element: Element | null): boolean {
  return element?.matches('input:not([type=checkbox]), select, textarea') === true
}

/** Selects a row by focus, so that it is visible, announced, and opened by Enter. */
function step(by: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')].filter((item) => item.offsetParent !== null)
  const row = rowOf(document.activeElement)
  const at = items.findIndex((item) => item === document.activeElement || (row !== null && rowOf(item) === row))
  items[at === -1 ? (by === 1 ? 0 : items.length - 1) : at + by]?.focus()
}

function tick(): void {
  rowOf(document.activeElement)?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
}

function rowOf(element: Element | null): Element | null {
  return element?.closest('tr, .timeline > li') ?? null
}
