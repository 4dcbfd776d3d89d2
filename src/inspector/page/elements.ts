/**
 * Elements as plain data, and what makes them real. A text becomes a text node and nothing else, so nothing that a sender writes
 * is ever read as markup; what is there already is kept, so neither focus, selection nor scroll is lost as things change.
 */

type Listener = (event: Event) => void
type Props = Readonly<Record<string, string | number | boolean | undefined | Listener>>

export interface Tree {
  readonly tag: string
  readonly props: Props
  readonly children: readonly (Tree | string)[]
}

export type Child = Tree | string | number | false | undefined | readonly Child[]

/** `key` tells siblings apart; `onclick` and the like are listeners; `value` and `checked` are of the element, not its markup. */
export function h(tag: string, props: Props = {}, ...children: readonly Child[]): Tree {
  return { tag, props, children: children.flatMap(flat) }
}

function flat(child: Child): readonly (Tree | string)[] {
  if (child === undefined || child === false || child === '') return []
  if (typeof child === 'string' || typeof child === 'number') return [String(child)]
  return isList(child) ? child.flatMap(flat) : [child]
}

function isList(child: Tree | readonly Child[]): child is readonly Child[] {
  return Array.isArray(child)
}

const SVG = 'http://www.w3.org/2000/svg'
/** What each element was made of. */
const made = new WeakMap<Node, Tree>()

/** Makes the children of an element what they are to be. */
export function patch(parent: Element, children: readonly (Tree | string)[]): void {
  const keyed = new Map<unknown, Node>()
  for (const node of parent.childNodes) {
    const key = made.get(node)?.props['key']
    if (key !== undefined) keyed.set(key, node)
  }
  let at = parent.firstChild
  for (const child of children) {
    const node = typeof child === 'string' ? textAt(at, child) : elementAt(at, child, keyed, parent)
    if (node === at) at = node.nextSibling
    else parent.insertBefore(node, at)
  }
  while (at !== null) {
    const next = at.nextSibling
    at.remove()
    at = next
  }
}

function textAt(at: ChildNode | null, text: string): ChildNode {
  if (!(at instanceof Text)) return document.createTextNode(text)
  if (at.data !== text) at.data = text
  return at
}

function elementAt(at: ChildNode | null, tree: Tree, keyed: ReadonlyMap<unknown, Node>, parent: Element): Element {
  const { key } = tree.props
  const old = key === undefined ? at : keyed.get(key)
  const isSame = old instanceof Element && made.get(old)?.tag === tree.tag && made.get(old)?.props['key'] === key
  const element = isSame ? old : create(tree.tag, parent)
  const before = made.get(element)
  made.set(element, tree)
  for (const name of Object.keys(before?.props ?? {})) if (!(name in tree.props)) set(element, name, undefined)
  patch(element, tree.children)
  // A select has its value by its options.
  for (const [name, value] of Object.entries(tree.props)) if (before?.props[name] !== value) set(element, name, value)
  return element
}

function create(tag: string, parent: Element): Element {
  return document.createElementNS(
    tag === 'svg' || parent.namespaceURI === SVG ? SVG : 'http://www.w3.org/1999/xhtml',
    tag,
  )
}

function set(element: Element, name: string, value: Props[string]): void {
  if (name === 'key') return
  if (typeof value === 'function' || name.startsWith('on')) element.addEventListener(name.slice(2), hear)
  else if (name === 'value' && (element instanceof HTMLInputElement || element instanceof HTMLSelectElement))
    element.value = String(value ?? '')
  else if (name === 'checked' && element instanceof HTMLInputElement) element.checked = value === true
  else if (value === undefined || value === false) element.removeAttribute(name)
  else element.setAttribute(name, value === true ? '' : String(value))
}

/** Whatever listener the element has now. */
function hear(event: Event): void {
  const { currentTarget } = event
  if (!(currentTarget instanceof Element)) return
  const listener = made.get(currentTarget)?.props[`on${event.type}`]
  if (typeof listener === 'function') listener(event)
}
