/** The result of a benchmark program: rows for people, data for machines, and bars where they help. */

export interface Report {
  readonly title: string
  /** How to read the tables. */
  readonly notes: readonly string[]
  readonly tables: readonly Table[]
  /** All measurements, for `--json`. */
  readonly data: unknown
  readonly chart?: Chart
}

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface Chart {
  readonly title: string
  readonly bars: readonly { readonly label: string; readonly value: number; readonly ours: boolean }[]
}

/** As text: the first column left-aligned, the others right-aligned. */
export function textOf({ title, notes, tables }: Report): string {
  const parts = [title, '='.repeat(title.length), ...notes, '']
  for (const { head, rows } of tables) {
    const all = [head, ...rows]
    const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)))
    const line = (row: readonly string[]): string =>
      row
        .map((cell, column) => {
          const width = widths[column] ?? 0
          return column === 0 ? cell.padEnd(width) : cell.padStart(width)
        })
        .join('  ')
    parts.push(line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line), '')
  }
  return parts.join('\n')
}
