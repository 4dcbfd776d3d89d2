/** Writes CSV that spreadsheets open as text. */

type Cell = string | number | boolean | Date | undefined

/** A line for the names of the columns, and a line for each row. */
export function csvOf<K extends string>(
  columns: readonly K[],
  rows: readonly Readonly<Partial<Record<K, Cell>>>[],
): string {
  const lines = rows.map((row) => columns.map((name) => cellOf(row[name])).join(','))
  return `${[columns.join(','), ...lines].join('\r\n')}\r\n`
}

/** A spreadsheet treats a text that begins like this as a formula. A phone number with a plus is harmless. */
function cellOf(value: Cell): string {
  const text = value instanceof Date ? value.toISOString() : String(value ?? '')
  const plain = text.replace(/^(?=[=\-@\t\r]|\+(?!\d+$))/, "'")
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
