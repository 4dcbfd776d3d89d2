/** A page with other rows in its tables. */
import { anchorOf } from './markdown.ts'
import type { GeneratedTable } from './tables.ts'

const CELL_BORDER = /(?<!\\)\|/

/** Replaces the rows of each table, which is known by its heading and its columns. Throws where a page has no such table. */
export function withTables(text: string, tables: readonly GeneratedTable[]): string {
  const missing = new Set(tables)
  const lines: string[] = []
  let anchor = ''
  let isSkipping = false
  for (const line of text.split('\n')) {
    const [, title] = /^#{1,6} (.+)$/.exec(line) ?? []
    if (title !== undefined) anchor = anchorOf(title)
    if (!line.startsWith('|')) isSkipping = false
    if (isSkipping) continue
    lines.push(line)
    if (!line.startsWith('|')) continue
    const header = cellsOf(line).join('|')
    const table = tables.find((one) => one.under === anchor && one.header.join('|') === header)
    if (table === undefined) continue
    missing.delete(table)
    isSkipping = true
    lines.push(`|${' --- |'.repeat(table.header.length)}`, ...table.rows.map((cells) => `| ${cells.join(' | ')} |`))
  }
  for (const { page, under, header } of missing)
    throw new Error(`${page} has no table with the columns ${header.join(', ')} under #${under}.`)
  return lines.join('\n')
}

function cellsOf(line: string): string[] {
  return line
    .split(CELL_BORDER)
    .slice(1, -1)
    .map((cell) => cell.trim())
}
