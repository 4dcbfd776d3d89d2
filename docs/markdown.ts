/** As much of Markdown as the pages use: sections, anchors, tables and code blocks. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../', import.meta.url))

export function readProjectFile(path: string): string {
  return readFileSync(`${ROOT}${path}`, 'utf8')
}

/** Every page, by its path from the project's root. */
export const PAGES: readonly string[] = [
  'README.md',
  ...globSync('docs/**/*.md', { cwd: ROOT, exclude: ['docs/api/**', 'docs/.vitepress/**'] }).sort(),
]

export function readPage(path: string): Markdown {
  return readMarkdown(readProjectFile(path))
}

/** A file or folder of the repository, as pages link to what the package does not contain. */
const IN_REPOSITORY = /^https:\/\/github\.com\/messaging-webhooks\/messaging-webhooks\/(?:blob|raw|tree)\/main\//

/** The path from the project's root that a page's link leads to, and the anchor. Undefined for links to other sites. */
export function targetOf(
  page: string,
  link: string,
): { readonly path: string; readonly anchor: string | undefined } | undefined {
  const [path = '', anchor] = link.split('#')
  if (IN_REPOSITORY.test(path)) return { path: path.replace(IN_REPOSITORY, ''), anchor }
  if (path.startsWith('https://')) return undefined
  return { path: path === '' ? page : join(dirname(page), path), anchor }
}

interface CodeBlock {
  readonly language: string
  readonly code: string
  /** Of the first line of its code, counted from 1. */
  readonly line: number
}

interface Section {
  readonly title: string
  readonly anchor: string
  /** The tables that stand under this very heading, the header row first; cells as written, without their padding. */
  readonly tables: readonly (readonly (readonly string[])[])[]
  /** The items of its list of codes, as written. */
  readonly items: readonly string[]
}

interface Markdown {
  readonly sections: readonly Section[]
  /** Where a link may lead: headings, and places that have a name of their own. */
  readonly anchors: readonly string[]
  readonly blocks: readonly CodeBlock[]
  /** The targets of the links, in order. */
  readonly links: readonly string[]
}

export function readMarkdown(text: string): Markdown {
  const sections: { title: string; anchor: string; tables: string[][][]; items: string[] }[] = []
  const blocks: CodeBlock[] = []
  const links: string[] = []
  const named: string[] = []
  let block: { language: string; lines: string[]; line: number } | undefined
  let isInTable = false
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^```(\w*)$/.exec(line)
    if (block !== undefined) {
      if (fence === null) {
        block.lines.push(line)
      } else {
        blocks.push({ ...block, code: `${block.lines.join('\n')}\n` })
        block = undefined
      }
      continue
    }
    if (fence !== null) {
      block = { language: fence[1] ?? '', lines: [], line: index + 2 }
      continue
    }
    const heading = /^#{1,6} (.+)$/.exec(line)
    if (heading?.[1] !== undefined)
      sections.push({ title: heading[1], anchor: anchorOf(heading[1]), tables: [], items: [] })
    if (isItem(line)) sections.at(-1)?.items.push(line)
    const tables = sections.at(-1)?.tables
    if (line.startsWith('|') && tables !== undefined) {
      if (!isInTable) tables.push([])
      const cells = line.split(/(?<!\\)\|/).slice(1, -1)
      if (!cells.every((cell) => /^ ?:?-+:? ?$/.test(cell))) tables.at(-1)?.push(cells.map((cell) => cell.trim()))
      isInTable = true
    } else {
      isInTable = false
    }
    for (const [, id = ''] of line.matchAll(/<a id="([\w-]+)">/g)) named.push(id)
    for (const link of line.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)) links.push(link[1] ?? '')
  }
  return { sections, anchors: [...sections.map(({ anchor }) => anchor), ...named], blocks, links }
}

/** Whether the line is an item of a list of codes, each with a place of its own. */
export function isItem(line: string): boolean {
  return line.startsWith('- <a id="')
}

/** The anchor that a heading gets where the page is shown. */
export function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** The table that stands under a heading; fails where there is not exactly one with this header row. */
export function tableOf(markdown: Markdown, anchor: string, header: readonly string[]): readonly (readonly string[])[] {
  const section = markdown.sections.find((candidate) => candidate.anchor === anchor)
  if (section === undefined) throw new Error(`The page has no heading with the anchor #${anchor}.`)
  const found = section.tables.filter(([first]) => first?.join('|') === header.join('|'))
  const [table] = found
  if (table === undefined || found.length > 1)
    throw new Error(`Under “${section.title}” stand ${found.length} tables with the columns ${header.join(', ')}.`)
  return table.slice(1)
}

/** A table as text, a row a line, so that a failing comparison shows the right one. */
export function render(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
