/** The help that an editor shows for each option in a call, from the declarations of the built package. */
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { ROOT } from '../../docs/markdown.ts'
import { membersOf } from '../../docs/members.ts'
import { OPTIONS } from '../../docs/options.ts'

const FILE = join(ROOT, 'test/docs/calls.mts')
const PAIR = "{ authKey: 'of the test' }"
const CLIENT = "baseUrl: 'https://service.invalid', project: 'a', apiKey: 'b'"

/** For the receiver or the client: the last option of a call, and its comment. */
const shown = [
  ...OPTIONS.map(({ name, comment }) => ({ name, comment, call: `createReceiver({ ${optionsUpTo(name)} })` })),
  ...clientOptions('clientOptions', ''),
  ...clientOptions('clientRetry', 'retry.'),
  ...clientOptions('clientChannels', 'channels.'),
]
const lines = [
  ...shown.map(({ call }) => call),
  "import { createReceiver } from '../../dist/index.js'",
  "import { createClient } from '../../dist/client/index.js'",
]

function optionsUpTo(name: string): string {
  if (name === 'credentials') return `credentials: ${PAIR}`
  return name === 'projects' ? `projects: { a: ${PAIR} }` : `credentials: ${PAIR}, ${unset(name)}`
}

function unset(name: string): string {
  const [group = '', key] = name.split('.')
  return `${group}: ${key === undefined ? 'undefined' : `{ ${key}: undefined }`}`
}

function clientOptions(shape: string, group: string) {
  return membersOf('src/client/options.ts', shape).map(([member = '', comment = '']) => {
    const name = `${group}${member.replaceAll('`', '')}`
    const isNeeded = CLIENT.includes(`${name}: `)
    return { name, comment, call: `createClient({ ${CLIENT}${isNeeded ? '' : `, ${unset(name)}`} })` }
  })
}

const editor = ts.createLanguageService({
  getCompilationSettings: () => ({ strict: true, module: ts.ModuleKind.NodeNext, skipLibCheck: true, types: ['node'] }),
  getScriptFileNames: () => [FILE],
  getScriptVersion: () => '',
  getScriptSnapshot(path) {
    const text = path === FILE ? lines.join('\n') : ts.sys.readFile(path)
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
  },
  fileExists: (path) => path === FILE || ts.sys.fileExists(path),
  readFile: (path) => ts.sys.readFile(path),
  directoryExists: (path) => ts.sys.directoryExists(path),
  useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
  getCurrentDirectory: () => ROOT,
  getDefaultLibFileName: ts.getDefaultLibFilePath,
})

test('the calls compile', () => {
  expect(editor.getSemanticDiagnostics(FILE).map(({ messageText }) => messageText)).toEqual([])
})

test.each(shown.map((option, nth) => [option.call, option.name, option.comment, nth] as const))(
  '%s',
  (call, name, comment, nth) => {
    const lineStart = lines.slice(0, nth).reduce((length, line) => length + line.length + 1, 0)
    const key = name.slice(name.indexOf('.') + 1)
    const info = editor.getQuickInfoAtPosition(FILE, lineStart + call.lastIndexOf(`${key}: `))
    expect(ts.displayPartsToString(info?.documentation).replaceAll(/\s+/g, ' ')).toBe(comment)
    expect(ts.displayPartsToString(info?.displayParts)).not.toMatch(/\bany\b|\bZod/)
  },
)
