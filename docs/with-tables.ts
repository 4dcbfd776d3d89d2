/** A page with other rows in its tables, and other items in its lists of codes. */
import { anchorOf, isItem } from './markdown.ts'
import type { GeneratedList, GeneratedTable } from './tables.ts'

const CELL_BORDER = /(?<!\\)\|/

/**
 * Replaces each table, which is known by its heading and its columns, or by its first column, so that others may come. Throws where a page
 * has no such table.
 */
export function withTables(text: string, tables: readonly GeneratedTable[]): string {
  const missing = new Set(tables)
  const lines: string[] = []
  let anchor = ''
  let isSkipping = false
  function tableFor(line: string): GeneratedTable | undefined {
    const cells = cellsOf(line)
    const here = tables.filter((one) => one.under === anchor && one.header[0] === cells[0])
    const same = here.find((one) => one.header.join('|') === cells.join('|'))
    return same ?? (here.length === 1 ? here[0] : undefined)
  }

  for (const line of text.split('\n')) {
    const [, title] = /^#{1,6} (.+)$/.exec(line) ?? []
    if (title !== undefined) anchor = anchorOf(title)
    if (!line.startsWith('|')) isSkipping = false
    if (isSkipping) continue
    const table = line.startsWith('|') ? tableFor(line) : undefined
    if (table === undefined) {
      lines.push(line)
      continue
    }
    missing.delete(table)
    isSkipping = true
    lines.push(
      `| ${table.header.join(' | ')} |`,
      `|${' --- |'.repeat(table.header.length)}`,
      ...table.rows.map((cells) => `| ${cells.join(' | ')} |`),
    )
  }
  for (const { page, under, header } of missing)
    throw new Error(`${page} has no table with the columns ${header.join(', ')} under #${under}.`)
  return lines.join('\n')
}

/** Replaces each list of codes, which is known by its heading. Throws where a page has no such list. */
export function withLists(text: string, lists: readonly GeneratedList[]): string {
  const missing = new Set(lists)
  const lines: string[] = []
  let list: GeneratedList | undefined
  for (const line of text.split('\n')) {
    const [, title] = /^#{1,6} (.+)$/.exec(line) ?? []
    if (title !== undefined) list = lists.find(({ under }) => under === anchorOf(title))
    if (list === undefined || !isItem(line)) lines.push(line)
    else if (missing.delete(list)) lines.push(...list.items)
  }
  for (const { page, under } of missing) throw new Error(`${page} has no list of codes under #${under}.`)
  return lines.join('\n')
}

function cellsOf(line: string): string[] {
  return line
    .split(CELL_BORDER)
    .slice(1, -1)
    .map((cell) => cell.trim())
}
