/** What the keyboard does, as a table: the help is made of it. */

interface Actions {
  readonly search: () => void
  readonly help: () => void
  readonly refresh: () => void
  readonly togglePause: () => void
  readonly go: (view: string) => void
}

interface Key {
  readonly key: string
  readonly what: string
  readonly run: (actions: Actions) => void
}

export const KEYS: readonly Key[] = [
  { key: 'j', what: 'Next row', run: () => step(1) },
  { key: 'k', what: 'Row before', run: () => step(-1) },
  { key: 'Enter', what: 'Open the row', run: () => {} },
  { key: 'x', what: 'Choose the row', run: choose },
  { key: '/', what: 'Search', run: ({ search }) => search() },
  { key: 'o', what: 'Overview', run: ({ go }) => go('overview') },
  { key: 'e', what: 'Events', run: ({ go }) => go('events') },
  { key: 'd', what: 'Dead letters', run: ({ go }) => go('dead-letters') },
  { key: 'q', what: 'Quarantine', run: ({ go }) => go('quarantine') },
  { key: 'r', what: 'Ask again', run: ({ refresh }) => refresh() },
  { key: 'p', what: 'Hold still, or go on', run: ({ togglePause }) => togglePause() },
  { key: '?', what: 'This help', run: ({ help }) => help() },
]

export function hearKeys(actions: Actions): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    const { target } = event
    if (!(target instanceof Element) || target.closest('dialog[open]') !== null) return
    const isField = target.closest('input:not([type=checkbox]), select, textarea') !== null
    if (isField && event.key === 'Escape' && target instanceof HTMLElement) target.blur()
    if (isField || event.key === 'Enter') return
    const found = KEYS.find(({ key }) => key === event.key)
    if (found === undefined) return
    event.preventDefault()
    found.run(actions)
  })
}

/** The focus is what is chosen: it is seen, announced, and opened by Enter without any help. */
function step(by: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')].filter((item) => item.offsetParent !== null)
  const row = rowOf(document.activeElement)
  const at = items.findIndex((item) => item === document.activeElement || (row !== null && rowOf(item) === row))
  const next = at === -1 ? (by === 1 ? 0 : items.length - 1) : at + by
  items[next]?.focus()
}

function rowOf(element: Element | null): Element | null {
  return element?.closest('tr, .timeline > li') ?? null
}

function choose(): void {
  rowOf(document.activeElement)?.querySelector<HTMLInputElement>('input[type=checkbox]')?.click()
}
