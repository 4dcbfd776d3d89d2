/** What an editor shows of an option is what the table says; where it is not, the failure shows the right comment. */
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { readProjectFile } from '../../docs/markdown.ts'
import { OPTIONS, type OptionRow } from '../../src/options.ts'

/** The interfaces in which the options of a group stand; those before a point have none. */
const GROUPS: Readonly<Record<string, string>> = {
  OptionsOfOneProject: '',
  OptionsOfProjects: '',
  OtherOptions: '',
  OrderingOptions: 'ordering.',
  RetryOptions: 'retry.',
  QuarantineOptions: 'quarantine.',
}

/** The members of each interface by their options' names, with their comments as one line. */
function commentsIn(source: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>()
  for (const statement of ts.createSourceFile('options.ts', source, ts.ScriptTarget.Latest, true).statements) {
    if (!ts.isInterfaceDeclaration(statement)) continue
    const group = GROUPS[statement.name.text]
    if (group === undefined) continue
    for (const member of statement.members) {
      // What only keeps the two forms of credentials apart is no option.
      if (!ts.isPropertySignature(member) || member.type?.kind === ts.SyntaxKind.UndefinedKeyword) continue
      const [comment] = ts.getJSDocCommentsAndTags(member)
      const text = ts.getTextOfJSDocComment(comment?.comment) ?? ''
      comments.set(`${group}${member.name.getText()}`, text.replaceAll(/\s+/g, ' '))
    }
  }
  return comments
}

function commentOf({ what, type, range, default: value }: OptionRow): string {
  const unit = type.charAt(0).toUpperCase() + type.slice(1)
  const limits = range === undefined ? '' : ` ${unit}, ${range.map(withCommas).join(' to ')}.`
  return `${what}${limits} Default: ${typeof value === 'number' ? withCommas(value) : value}.`
}

function withCommas(number: number): string {
  return number.toLocaleString('en-US')
}

describe('the comments in src/options.ts', () => {
  const comments = commentsIn(readProjectFile('src/options.ts'))

  test.each(OPTIONS.map((row: OptionRow) => [row.name, row] as const))('%s', (name, row) => {
    expect(comments.get(name)).toBe(commentOf(row))
  })

  test('no option is without one, and none is without a line in the table', () => {
    const groups = Object.values(GROUPS).map((group) => group.slice(0, -1))
    for (const [name, comment] of comments) {
      expect(comment, name).not.toBe('')
      expect([...OPTIONS.map((row) => row.name), ...groups], name).toContain(name)
    }
  })
})

describe('the default that the comment of a store’s setting names is the one that it has', () => {
  const UNITS: Readonly<Record<string, string>> = { MiB: ' * 1024 * 1024', days: '', day: '', ms: '' }

  test.each([
    ['memory', 'store.ts'],
    ['sqlite', 'store.ts'],
    ['postgres', 'settings.ts'],
    ['redis', 'store.ts'],
  ])('%s', (store, settings) => {
    const source = readProjectFile(`src/stores/${store}/store.ts`)
    const [, schema = ''] = readProjectFile(`src/stores/${store}/${settings}`).split(
      /const (?:bounds|settings)Schema =|^}\)$/m,
    )
    const commented = source.matchAll(/Default (.+)\. \*\/\n {2}readonly (\w+)\?: number/g)
    const said = [...commented].map(([, value = '', name = '']) => {
      const [number = '', unit = ''] = value.split(' ')
      return `${name}: ${number.replaceAll(',', '_')}${unit === '' ? '' : (UNITS[unit] ?? ` of ${unit}`)}`
    })
    const had = [...schema.matchAll(/^ {2}(\w+): (?:number|wholeNumber|days|milliseconds).*\.default\((.+)\),$/gm)]
    expect(said.length).toBeGreaterThan(3)
    expect(said.toSorted()).toEqual(had.map(([, name = '', value = '']) => `${name}: ${value}`).toSorted())
  })
})
