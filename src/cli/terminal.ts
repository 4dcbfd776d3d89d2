/** Where lines go: colours and widths follow the terminal, and what others wrote cannot steer it. */
import { stripVTControlCharacters, styleText } from 'node:util'
import { Help } from 'commander'
import { readVariable } from './environment.ts'

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Each gives a text its colour, or leaves it as it is where there are no colours. */
export type Colours = Readonly<Record<Colour, (text: string) => string>>

/**
 * What becomes of a line that is longer than the terminal is wide: it goes on in the next one, between two words, or it is
 * cut, as a row that ends with an error is; `whole` leaves it to the terminal, as for JSON. In a pipe every line is one line.
 */
type Fit = 'wrap' | 'cut' | 'whole'

export interface Terminal {
  /** A line for whoever reads the result; `wrap` by default. */
  print(line: string, fit?: Fit): void
  /** The rows of a list as lines with aligned columns, each behind the indent. */
  printRows(rows: readonly (readonly string[])[], fit?: Fit, indent?: string): void
  /** A line of JSON, never wrapped. */
  printJson(value: object): void
  /** A line about the run itself, to the standard error. */
  note(line: string): void
  /** For what is printed, and for what is noted: one may be piped and the other not. */
  readonly colours: Colours
  readonly noteColours: Colours
  /** The standard error is a terminal, so that a progress bar can be drawn there. */
  readonly isInteractive: boolean
}

interface Streams {
  readonly out: NodeJS.WriteStream
  readonly err: NodeJS.WriteStream
}

const NARROWEST = 20
/** What goes on in the next line stands under the line's own words, so that each line's beginning is seen. */
const INDENT = '    '

export function createTerminal({ out, err }: Streams = { out: process.stdout, err: process.stderr }): Terminal {
  // Whoever reads us may stop reading, as `head` does.
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

/** Node leaves the property out where it is a pipe, whatever its types say. */
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

/** https://no-color.org, then FORCE_COLOR, then whether somebody looks at it. */
function hasColours(stream: MaybeTty): boolean {
  if (readVariable('NO_COLOR') !== undefined) return false
  const forced = readVariable('FORCE_COLOR')
  if (forced !== undefined) return forced !== '0'
  return isTerminal(stream)
}

function fitted(line: string, fit: Fit, width: number): string {
  return fit === 'wrap' ? wrapped(line, width) : fit === 'cut' ? cut(line, width) : line
}

/** A word that is longer than a line, such as a URL, stays whole. */
function wrapped(line: string, width: number): string {
  if (stripVTControlCharacters(line).length <= width) return line
  const help = new Help()
  help.minWidthToWrap = 0
  return help.boxWrap(line, width - INDENT.length).replaceAll('\n', `\n${INDENT}`)
}

/** Cuts by what is seen. A line that is too long loses its colours, so that none is left open. */
function cut(line: string, width: number): string {
  const plain = stripVTControlCharacters(line)
  const letters = Array.from(new Intl.Segmenter().segment(plain), ({ segment }) => segment)
  return letters.length <= width ? line : `${letters.slice(0, width - 1).join('')}…`
}

/** Text from outside in one line: control characters, which a terminal would obey, are written as escapes. */
export function shown(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** The columns of a list, each as wide as its longest cell, the last one as it is. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => stripVTControlCharacters(row[column] ?? '').length)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const room = (widths[column] ?? 0) - stripVTControlCharacters(cell).length
        return column === row.length - 1 ? cell : cell + ' '.repeat(room)
      })
      .join('  '),
  )
}
