/** Writes CSV that spreadsheets open as text. */

type Cell = string | number | boolean | Date | undefined

export function csvOf<K extends string>(
  columns: readonly K[],
  rows: readonly Readonly<Partial<Record<K, Cell>>>[],
): string {
  const lines = rows.map((row) => columns.map((name) => cellOf(row[name])).join(','))
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`
}

/** Escapes text that a spreadsheet would treat as a formula. A phone number with a plus is harmless. */
function cellOf(value: Cell): string {
  const text = value instanceof Date ? value.toISOString() : String(value ?? '')
  const plain = text.replace(/^(?=[=\-@\t\r]|\+(?!\d+$))/, "'")
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
