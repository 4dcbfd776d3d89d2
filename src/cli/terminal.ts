/** Output with colours. External text cannot control the terminal. */
import { stripVTControlCharacters, styleText } from 'node:util'

type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Each function colours a text, or returns it unchanged if colours are off. */
export type Colours = Readonly<Record<Colour, (text: string) => string>>

export interface Terminal {
  /** Prints a result. */
  print(line: string): void
  /** Prints rows with aligned columns after the indent. */
  printRows(rows: readonly (readonly string[])[], indent?: string): void
  /** One line. A terminal obeys nothing in it, and a program reads the same values. */
  printJson(value: object): void
  /** Prints a message about the run to the standard error. */
  note(line: string): void
  /** For the standard output and the standard error; only one may be a terminal. */
  readonly colours: Colours
  readonly noteColours: Colours
}

export function createTerminal(): Terminal {
  const { stdout, stderr } = process
  // The reader of a pipe may close it, as `head` does.
  for (const stream of [stdout, stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
  const print = (line: string): void => void stdout.write(`${line}\n`)
  return {
    print,
    printRows(rows, indent = '') {
      for (const line of aligned(rows)) print(`${indent}${line}`)
    },
    // In JSON, such characters occur only within strings, where an escape stands for the same character.
    printJson: (value) => print(shown(JSON.stringify(value))),
    note: (line) => void stderr.write(`${line}\n`),
    colours: coloursFor(stdout),
    noteColours: coloursFor(stderr),
  }
}

/** Node respects NO_COLOR and FORCE_COLOR, and colours no pipe. */
function coloursFor(stream: NodeJS.WriteStream): Colours {
  const colour = (name: Colour) => (text: string) => styleText(name, text, { stream })
  return {
    bold: colour('bold'),
    dim: colour('dim'),
    red: colour('red'),
    green: colour('green'),
    yellow: colour('yellow'),
    cyan: colour('cyan'),
  }
}

/** Makes external text safe for one line: escapes control and format characters, which a terminal would obey. */
export function shown(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** Aligns columns by their longest cell. The last one is not padded. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widthOf = (cell = ''): number => stripVTControlCharacters(cell).length
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(row[column]))))
  return rows.map((row) => {
    const padded = row.map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
    return [...padded.slice(0, -1), ...row.slice(-1)].join('  ')
  })
}

/** For example “2 problems”. */
export function count(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? '' : 's'}`
}

/** In UTC. */
export function timeOfDay(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23)
}
