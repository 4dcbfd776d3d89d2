/** Output with colours and widths that fit the terminal. External text cannot control the terminal. */
import { stripVTControlCharacters, styleText } from 'node:util'
import { Help } from 'commander'
import { readVariable } from './environment.ts'

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Each function colours a text, or returns it unchanged if colours are off. */
export type Colours = Readonly<Record<Colour, (text: string) => string>>

/**
 * Handling of lines wider than the terminal: `wrap` between words, `cut` at the end, or `whole`, which leaves it to the
 * terminal, as for JSON. Lines in a pipe are never changed.
 */
type Fit = 'wrap' | 'cut' | 'whole'

export interface Terminal {
  /** Prints a result. Default `wrap`. */
  print(line: string, fit?: Fit): void
  /** Prints rows with aligned columns after the indent. */
  printRows(rows: readonly (readonly string[])[], fit?: Fit, indent?: string): void
  /** A line of JSON, never wrapped. */
  printJson(value: object): void
  /** Prints a message about the run to the standard error. */
  note(line: string): void
  /** For the standard output and the standard error; only one may be a terminal. */
  readonly colours: Colours
  readonly noteColours: Colours
  /** Whether the standard error is a terminal, where a progress bar can be drawn. */
  readonly isInteractive: boolean
}

interface Streams {
  readonly out: NodeJS.WriteStream
  readonly err: NodeJS.WriteStream
}

const NARROWEST = 20
/** Indents continuation lines, so that the start of each line stands out. */
const INDENT = '    '

export function createTerminal({ out, err }: Streams = { out: process.stdout, err: process.stderr }): Terminal {
  // The reader of a pipe may close it, as `head` does.
  for (const stream of [out, err])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
  function print(line: string, fit: Fit = 'wrap'): void {
    out.write(`${out.isTTY ? fitted(line, fit, Math.max(out.columns, NARROWEST)) : line}\n`)
  }
  return {
    print,
    printRows(rows, fit, indent = '') {
      for (const line of aligned(rows)) print(`${indent}${line}`, fit)
    },
    printJson: (value) => print(JSON.stringify(value), 'whole'),
    note: (line) => void err.write(`${line}\n`),
    colours: coloursFor(out),
    noteColours: coloursFor(err),
    isInteractive: isTerminal(err),
  }
}

/** In a pipe Node omits the property, contrary to its types. */
interface MaybeTty {
  readonly isTTY?: boolean | undefined
}

function isTerminal(stream: MaybeTty): boolean {
  return stream.isTTY === true && process.env['TERM'] !== 'dumb'
}

function coloursFor(stream: MaybeTty): Colours {
  const isOn = hasColours(stream)
  const colour = (name: Colour) => (text: string) => (isOn ? styleText(name, text, { validateStream: false }) : text)
  return {
    bold: colour('bold'),
    dim: colour('dim'),
    red: colour('red'),
    green: colour('green'),
    yellow: colour('yellow'),
    cyan: colour('cyan'),
  }
}

/** Order of precedence: https://no-color.org, FORCE_COLOR, terminal. */
function hasColours(stream: MaybeTty): boolean {
  if (readVariable('NO_COLOR') !== undefined) return false
  const forced = readVariable('FORCE_COLOR')
  if (forced !== undefined) return forced !== '0'
  return isTerminal(stream)
}

function fitted(line: string, fit: Fit, width: number): string {
  return fit === 'wrap' ? wrapped(line, width) : fit === 'cut' ? cut(line, width) : line
}

/** A word longer than a line, such as a URL, is not broken. */
function wrapped(line: string, width: number): string {
  if (stripVTControlCharacters(line).length <= width) return line
  const help = new Help()
  help.minWidthToWrap = 0
  return help.boxWrap(line, width - INDENT.length).replaceAll('\n', `\n${INDENT}`)
}

/** Cuts by visible characters. A cut line loses its colours, so that none stays open. */
function cut(line: string, width: number): string {
  const plain = stripVTControlCharacters(line)
  const letters = Array.from(new Intl.Segmenter().segment(plain), ({ segment }) => segment)
  return letters.length <= width ? line : `${letters.slice(0, width - 1).join('')}…`
}

/** Makes external text safe for one line: escapes control characters, which a terminal would obey. */
export function shown(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** Aligns columns by their longest cell. The last one is not padded. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => stripVTControlCharacters(row[column] ?? '').length)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const padding = (widths[column] ?? 0) - stripVTControlCharacters(cell).length
        return column === row.length - 1 ? cell : cell + ' '.repeat(padding)
      })
      .join('  '),
  )
}
