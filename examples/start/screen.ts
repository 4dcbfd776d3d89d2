/** What the person at the terminal sees: a line for each callback, and under it what became of it, in three columns. */
import { styleText } from 'node:util'

export type Screen = ReturnType<typeof createScreen>

// styleText omits colours without a terminal or with NO_COLOR.
const bold = (text: string): string => styleText('bold', text)
const cyan = (text: string): string => styleText('cyan', text)
const dim = (text: string): string => styleText('dim', text)
const green = (text: string): string => styleText('green', text)
const red = (text: string): string => styleText('red', text)
const yellow = (text: string): string => styleText('yellow', text)

const FIRST_WIDTH = 26
const ID_WIDTH = 14
const WHY_WIDTH = 60

export function createScreen(print: (line: string) => void = console.log) {
  /** What is said while a callback is under way stands under that callback's line. */
  const held: string[] = []
  let isUnderWay = false

  function under(line: string): void {
    if (isUnderWay) held.push(`         ${line}`)
    else print(`         ${line}`)
  }

  return {
    title(app: string, service: string) {
      print(`\n${bold('messaging-webhooks')} in an Express app on ${app}`)
      print(dim(`the sending service, emulated, on ${service}`))
      print(dim('✓ ✗ what was POSTed and how it was answered, └ what your handlers got'))
    },
    note: (text: string) => print(dim(text)),
    scene: (text: string) => print(`\n${bold(text)}`),
    /** The service answered a send. */
    sent({ status, what, statuses }: { status: number; what: string; statuses: readonly string[] }) {
      print(`  ${answerOf(status)}  ${what}`)
      print(`         └ ${statuses.join(', ')}`)
    },
    callbackBegins() {
      isUnderWay = true
    },
    /** A fault may have posted it several times. */
    callbackEnds(line: {
      posts: readonly { readonly status: number | undefined; readonly note: string }[]
      kind: string | undefined
      id: string
      what: string
    }) {
      isUnderWay = false
      const path = `/${line.kind ?? ''}`
      for (const { status, note } of line.posts) {
        const what = note === '' ? line.what : `${line.what.padEnd(FIRST_WIDTH)}${yellow(note)}`
        print(`  ${answerOf(status)}  ${path.padEnd(FIRST_WIDTH)}${line.id.padEnd(ID_WIDTH)}${what}`)
      }
      for (const said of held.splice(0)) print(said)
    },
    /** A handler got an event. */
    handled(type: string, id: string, ...texts: readonly (string | undefined)[]) {
      const [first = '', ...more] = wrap(texts.filter(Boolean).join(': '), WHY_WIDTH - ID_WIDTH)
      under(`└ ${cyan(type.padEnd(FIRST_WIDTH - 2))}${id.padEnd(ID_WIDTH)}${first}`)
      for (const line of more) under(' '.repeat(FIRST_WIDTH + ID_WIDTH) + line)
    },
    /** A request was refused, or a handler failed. */
    failed(code: string, why: string) {
      const [first = '', ...more] = wrap(why, WHY_WIDTH)
      under(`└ ${red(code.padEnd(FIRST_WIDTH - 2))}${dim(first)}`)
      for (const line of more) under(' '.repeat(FIRST_WIDTH) + dim(line))
    },
    summary(rows: readonly (readonly [name: string, count: number, meaning: string])[]) {
      print(`\n${bold('In all')}`)
      for (const [name, count, meaning] of rows)
        print(`  ${name.padEnd(11)}${String(count).padStart(4)}   ${dim(meaning)}`)
      print('')
    },
  }
}

function answerOf(status: number | undefined): string {
  if (status === undefined) return red('✗ ---')
  return status < 300 ? green(`✓ ${status}`) : red(`✗ ${status}`)
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line.length + word.length >= width) {
      lines.push(line)
      line = ''
    }
    line += line === '' ? word : ` ${word}`
  }
  return [...lines, line]
}
