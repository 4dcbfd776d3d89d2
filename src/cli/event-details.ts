/** One event in full: its fields in two columns, then its payload and, where there is one, its error. */
import { aligned, shown, type Terminal } from './terminal.ts'

export function printDetails(
  fields: Readonly<Record<string, string | undefined>>,
  { payload, error }: { readonly payload: unknown; readonly error: string | undefined },
  terminal: Terminal,
): void {
  const { bold } = terminal.colours
  const rows = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[bold(name), shown(value)]],
  )
  for (const line of aligned(rows)) terminal.print(line)
  if (payload !== undefined) printUnder('payload', JSON.stringify(payload, undefined, 2), terminal)
  if (error !== undefined) printUnder('error', error, terminal)
}

function printUnder(title: string, text: string, { print, colours }: Terminal): void {
  print(colours.bold(title))
  for (const line of text.split('\n')) print(`  ${shown(line)}`, 'whole')
}
