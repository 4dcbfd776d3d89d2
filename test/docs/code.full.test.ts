/**
 * The pages' code works: the README's first block is the quickstart example, every block compiles against the sources, and
 * the tables of types match the types.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../support/program.ts'
import { readPage, readProjectFile, ROOT, tableOf } from '../../docs/markdown.ts'
import { EVENT_PROSE } from '../../docs/tables.ts'
import { ALIASED, AMBIENT, BLOCKS, SOURCES } from './blocks.ts'

const HANDLERS = `
import type { Receiver } from 'messaging-webhooks'
export const credentials = { authKey: 'your Auth Key', signingSecret: 'your signing secret' }
export function attachHandlers(receiver: Receiver): void {
  receiver.onAny((event) => console.log(event.type))
}
`

/** Asserts that two types are equal; a compiler error otherwise. */
const EQUAL = `
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
const same = <_T extends true>(): void => {}
`

/** The compiler's errors for in-memory sources in the tests' folder. */
function complaints(sources: ReadonlyMap<string, string>): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    `${ROOT}tsconfig.json`,
    // For the blocks of NestJS, which use decorators and parameter properties.
    { experimentalDecorators: true, erasableSyntaxOnly: false },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic() {} },
  )
  if (config === undefined) throw new Error('tsconfig.json cannot be read.')
  const inMemory = new Map([...sources].map(([name, text]) => [`${ROOT}test/docs/${name}`, text]))
  // Blocks import these from the reader's app.
  inMemory.set(`${ROOT}test/docs/handlers.ts`, HANDLERS)
  inMemory.set(`${ROOT}test/docs/webhooks.ts`, readProjectFile('examples/nest/webhooks.ts'))
  const host = ts.createCompilerHost(config.options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => inMemory.has(path) || fileExists(path)
  host.readFile = (path) => inMemory.get(path) ?? readFile(path)
  host.getSourceFile = (path, options) => {
    const text = inMemory.get(path)
    return text === undefined ? getSourceFile(path, options) : ts.createSourceFile(path, text, options)
  }
  const program = ts.createProgram([...inMemory.keys()], config.options, host)
  return [...inMemory.keys()].flatMap((path) => {
    const file = program.getSourceFile(path)
    if (file === undefined) throw new Error(`The compiler did not see ${path}.`)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((diagnostic) => {
      const { line } = file.getLineAndCharacterOfPosition(diagnostic.start ?? 0)
      return `${path.slice(ROOT.length)} line ${line + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`
    })
  })
}

test('the first block is examples/quickstart.ts, word for word', () => {
  expect(BLOCKS[0]?.code).toBe(readProjectFile('examples/quickstart.ts'))
})

test('no block configures an Auth Key without a signing secret', () => {
  const halves = BLOCKS.filter(({ code }) => /(credentials|projects)\b/.test(code) && /authKey\b/.test(code))
  expect(halves.length).toBeGreaterThan(15)
  expect(
    halves.filter(({ code }) => !code.includes('signingSecret')).map(({ page, line }) => `${page}:${line}`),
  ).toEqual([])
})

const WRONG = `import { createReceiver } from 'messaging-webhooks'
createReceiver({ credentials: { authKey: 'k' } }).on('message.delivered', (event) => console.log(event.failure))
createReceiver({ credentials: { authKey: 'k' } }).on('message.deliverd', () => {})
`

test(
  'every block and the tables of fields, methods and anomalies compile, both ways; a wrong block does not',
  { timeout: 120_000 },
  () => {
    expect(BLOCKS.length).toBeGreaterThan(25)
    // In one program, because most of the time is spent on the sources.
    const others = [
      ['ambient.d.ts', AMBIENT],
      ['aliased.d.ts', ALIASED],
      ['tables.ts', typesOfTables()],
      ['wrong.ts', WRONG],
    ] as const
    const found = complaints(new Map([...SOURCES, ...others]))
    const [property, event, ...none] = found.filter((complaint) => complaint.startsWith('test/docs/wrong.ts'))
    expect(property).toContain("Property 'failure' does not exist")
    expect({ hasEvent: event !== undefined, none }).toEqual({ hasEvent: true, none: [] })
    expect(found.filter((complaint) => complaint !== property && complaint !== event)).toEqual([])
  },
)

test('the block that tests a handler passes when Vitest runs it', { timeout: 120_000 }, async () => {
  const block = BLOCKS.find(({ code }) => code.includes("from 'vitest'"))
  const folder = await mkdtemp(join(ROOT, 'test/docs/example-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'handlers.test.ts'), block?.code ?? '')
  // Otherwise this project's own package.json is found, which maps the package's names to the sources.
  await writeFile(join(folder, 'vitest.config.js'), 'export default {}')
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  // Resolves the built package by its name, as for users.
  const { code, stdout, stderr } = await runProgram(process.execPath, [vitest, 'run', '--root', folder], {
    cwd: folder,
    env: { NO_COLOR: '1' },
  })
  expect(code, `${stdout}${stderr}`).toBe(0)
  expect(stdout).toMatch(/Tests {2}1 passed/)
})

test('the block that sends through the emulator passes when it is run', { timeout: 120_000 }, async () => {
  const block = BLOCKS.find(({ code }) => code.includes('node:assert'))
  expect(block?.code).toContain('createEmulator')
  const folder = await mkdtemp(join(ROOT, 'test/docs/example-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'emulator.ts'), block?.code ?? '')
  const { code, stderr } = await runProgram(process.execPath, [join(folder, 'emulator.ts')], { cwd: folder })
  expect(code, stderr).toBe(0)
})

test('runs each complete block that needs no server', { timeout: 240_000 }, async () => {
  // A block is complete if it compiles without the names of other blocks.
  const found = complaints(SOURCES)
  const whole = [...SOURCES].filter(
    ([name, code]) =>
      code.includes("from 'messaging-webhooks") &&
      !/postgres|mysql|redis|vitest|listen\(|createClient|@Injectable/.test(code) &&
      !found.some((complaint) => complaint.includes(name)),
  )
  expect(whole.length).toBeGreaterThan(8)
  const folder = await mkdtemp(join(ROOT, 'test/docs/example-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const failed: string[] = []
  for (const [name, code] of whole) {
    await writeFile(join(folder, name), code)
    const ran = await runProgram(process.execPath, [join(folder, name)], { cwd: folder })
    if (ran.code !== 0) failed.push(`${name}: ${ran.stderr}`)
  }
  expect(failed).toEqual([])
})

/** The types on the pages, as statements that the compiler checks. */
function typesOfTables(): string {
  const lines = [
    `import type { CallbackAnomaly, Carrier, EventMap, EventType, Receiver, SentDetails, StatusCode } from 'messaging-webhooks'`,
    `import type { CommonFields, EventProof, ReportFields, ReportType, TimestampSource } from '../../src/public/events.ts'`,
    `import type { ChatAppReportPayload, ReportShape, SmsReportPayload } from '../../src/public/report-payloads.ts'`,
    `import type { Emulator, EmulatorOptions, NetworkProfile, ProjectOptions } from 'messaging-webhooks/emulator'`,
    EQUAL,
  ]
  const events = readPage('docs/reference/events.md')
  const emulatorPage = readPage('docs/reference/emulator.md')
  const receiverPage = readPage('docs/reference/receiver.md')
  for (const [type, under] of [
    ['Receiver', 'the-receiver'],
    [`Receiver['sends']`, 'sends'],
  ] as const) {
    const methods = tableOf(receiverPage, under, ['Method', 'What it does']).map(([name = '']) => bare(name))
    lines.push(`same<Equal<keyof ${type}, ${union(methods)}>>()`)
  }

  const [, members = ''] = /^## Members$(.*?)^## /ms.exec(readProjectFile('docs/reference/emulator.md')) ?? []
  const emulator = [...members.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  lines.push(`same<Equal<keyof Emulator, ${union(emulator)}>>()`)
  for (const [type, header] of [
    ['EmulatorOptions', ['Option', 'What']],
    ['ProjectOptions', ['Of a project', 'What']],
    ['NetworkProfile', ['Of the network', 'What', 'Default']],
  ] as const) {
    const names = tableOf(emulatorPage, 'options', header).map(([name = '']) => bare(name))
    lines.push(`same<Equal<keyof ${type}, ${union(names)}>>()`)
  }

  const anomalies = tableOf(events, 'anomalies', ['Anomaly', 'What']).map(([name = '']) => bare(name))
  lines.push(`same<Equal<CallbackAnomaly, ${union(anomalies)}>>()`)

  const [common = [], report = []] = events.sections
    .filter(({ anchor }) => anchor === 'events')
    .flatMap(({ tables }) => tables.filter(([header]) => header?.join('|') === 'Field|Type|What'))
    .map((table) => table.slice(1).map(([name = '', type = '']) => ({ name: bare(name), type: bare(type) })))
  const named = (fields: typeof common): string => union(fields.map(({ name }) => name.replace('?', '')))
  lines.push(`same<Equal<keyof CommonFields | 'type', ${named(common)}>>()`)
  // A report narrows the payload among the common fields.
  lines.push(`same<Equal<Exclude<keyof ReportFields, keyof CommonFields> | 'payload', ${named(report)}>>()`)
  const fields = [
    ...common.map((field) => ({ ...field, whole: field.name === 'type' ? 'EventMap[EventType]' : 'CommonFields' })),
    ...report.map((field) => ({ ...field, whole: 'ReportFields' })),
  ]
  for (const { name, type, whole } of fields) {
    const field = name.replace('?', '')
    lines.push(`same<Equal<Required<${whole}>['${field}'], ${type.replaceAll('\\|', '|')}>>()`)
    const isOptional = name.endsWith('?')
    lines.push(`same<Equal<{} extends Pick<${whole}, '${field}'> ? true : false, ${String(isOptional)}>>()`)
  }

  for (const [type, [, own]] of Object.entries(EVENT_PROSE)) {
    const fields = [...own.matchAll(/`(\w+)(\??)`/g)].map(([, name = '']) => name)
    const event = `EventMap[${quoted(type)}]`
    const shared = `keyof CommonFields | 'type' | (${quoted(type)} extends ReportType ? keyof ReportFields : never)`
    lines.push(`same<Equal<Exclude<keyof ${event}, ${shared}>, ${fields.length === 0 ? 'never' : union(fields)}>>()`)
  }
  return `${lines.join('\n')}\n`
}

function bare(cell: string): string {
  return cell.replaceAll('`', '')
}

function quoted(name: string): string {
  return `'${name}'`
}

function union(names: readonly string[]): string {
  return names.map(quoted).join(' | ')
}
