/** A small project that installs the packed tarball and uses each of its entries, also in Jest and in CommonJS. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { runProgram } from '../support/program.ts'
import { openFile } from './one-file.ts'
import { emptyProject, LIFE, LIFE_SAYS, mustRun, pack, type EmptyProject } from './packed.ts'

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const TIMEOUT = { timeout: 120_000 }
/** The first lacks names that modules import. */
const TOO_OLD = ['18.20', '20', '22.11'] as const

let project: EmptyProject
let oldestNode: string

beforeAll(async () => {
  project = await emptyProject()
  const others = ['zod@4', 'fast-check@4', '@opentelemetry/api@1.9.0', 'jest@30', 'supertest@7']
  const nodes = ['node22@npm:node@22.13', ...TOO_OLD.map((version) => `node${version}@npm:node@${version}`)]
  await project.install(await pack(project.folder), ...others, '@types/node@24', ...nodes)
  oldestNode = join(project.folder, 'node_modules/node22/bin/node')
}, 300_000)

afterAll(() => project.remove())

describe('TypeScript, strict and with the libraries checked', { timeout: 240_000 }, () => {
  const MAIN_SAYS = '204 message.delivered m-1 true function function\n'

  test('bundler, with exactOptionalPropertyTypes', async () => {
    const options = ['--module', 'esnext', '--moduleResolution', 'bundler', '--exactOptionalPropertyTypes']
    await compile(['main.mts'], 'out-bundler', options)
    expect(await mustRun(process.execPath, ['out-bundler/main.mjs'], project.folder)).toBe(MAIN_SAYS)
  })

  // node18 compiles as node16 does, and node20 as nodenext does.
  test.each([
    ['node16', []],
    ['nodenext', ['conformance', 'emulator', 'otel']],
  ])('%s: ES modules, and CommonJS that requires them, on Node 22.13 too', async (module, others) => {
    const out = `out-${module}`
    const files = ['main.mts', 'main.cts', 'entries.cts', ...others.map((name) => `${name}.mts`)]
    await compile(files, out, ['--module', module])
    const prints: Readonly<Record<string, string>> = {
      'main.mjs': MAIN_SAYS,
      'main.cjs': 'function string\n',
      'entries.cjs': 'true 0 string\n',
      'conformance.mjs': 'true true sqlite function\n',
      'emulator.mjs': '200 message.delivered 1 200\n',
      'otel.mjs': '204 m-1 undefined\n',
    }
    for (const node of [process.execPath, oldestNode])
      for (const file of files.map((name) => name.replace('ts', 'js')))
        expect(await mustRun(node, ['--disable-warning=ExperimentalWarning', `${out}/${file}`], project.folder)).toBe(
          prints[file],
        )
  })

  // Without `exports`: `typesVersions` leads to the types. TypeScript 6 still has it, deprecated.
  test('node10: CommonJS', async () => {
    const options = ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0']
    await compile(['main.cts', 'entries.cts'], 'out-node10', options)
    expect(await mustRun(process.execPath, ['out-node10/main.cjs'], project.folder)).toBe('function string\n')
    expect(await mustRun(process.execPath, ['out-node10/entries.cjs'], project.folder)).toBe('true 0 string\n')
  })

  async function compile(files: readonly string[], out: string, options: readonly string[]): Promise<void> {
    const always = ['--strict', '--target', 'es2022', '--types', 'node', '--skipLibCheck', 'false', '--outDir', out]
    await mustRun(process.execPath, [tsc, ...always, ...options, ...files], project.folder)
  }
})

// Node requires the ES modules by the condition `module-sync`, including the oldest supported version.
describe.each([
  ['ES modules', 'main.mjs'],
  ['require', 'main.cjs'],
])('JavaScript with %s', (_, file) => {
  test('on this Node', async () => {
    expect(await mustRun(process.execPath, [file], project.folder)).toBe('204 message.delivered m-1\n')
  })

  test('on Node 22.13', async () => {
    expect(await mustRun(oldestNode, ['--version'])).toMatch(/^v22\.13\./)
    expect(await mustRun(oldestNode, [file], project.folder)).toBe('204 message.delivered m-1\n')
  })
})

describe.each([
  ['ES modules', 'sqlite.mjs'],
  ['require', 'sqlite.cjs'],
])('the SQLite store with %s', (_, file) => {
  test('opens on this Node', async () => {
    expect(await mustRun(process.execPath, [file], project.folder)).toBe('sqlite true started\n')
  })

  test('opens on Node 22.13', async () => {
    const options = ['--disable-warning=ExperimentalWarning', file]
    expect(await mustRun(oldestNode, options, project.folder)).toBe('sqlite true started\n')
  })

  test('can be imported on a Node without SQLite, where start() reports that it cannot be opened', async () => {
    for (const node of [process.execPath, oldestNode])
      expect(await mustRun(node, ['--no-experimental-sqlite', file], project.folder)).toBe(
        'sqlite true store_unsupported\n',
      )
  })
})

test('events pass through the spool, the store, its lists and the quarantine on Node 22.13 too', TIMEOUT, async () => {
  for (const node of [process.execPath, oldestNode]) {
    await rm(join(project.folder, 'life.db'), { force: true })
    await rm(join(project.folder, 'life.db-spool'), { force: true, recursive: true })
    expect(await mustRun(node, ['--disable-warning=ExperimentalWarning', LIFE], project.folder)).toBe(LIFE_SAYS)
  }
})

describe.each(TOO_OLD)('Node %s', (version) => {
  const node = () => join(project.folder, `node_modules/node${version}/bin/node`)
  const says = new RegExp(`This is Node\\.js ${version}\\..*Use Node\\.js 22\\.13 or later`)

  test('is refused by each entry, in ES modules and with require', TIMEOUT, async () => {
    const lines = (await mustRun(node(), ['each-entry.cjs'], project.folder)).trim().split('\n')
    expect(lines).toEqual([expect.stringMatching(/^node_unsupported: /)])
    expect(lines[0]).toMatch(says)
  })

  test('is refused by the command line, without a stack', async () => {
    const bin = join(project.folder, 'node_modules/.bin/messaging-webhooks')
    const { code, stdout, stderr } = await runProgram(node(), [bin, 'doctor', '--help'], { cwd: project.folder })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toMatch(/^error: .*\n$/)
    expect(stderr).toMatch(says)
  })
})

test('Node 22.13 loads each entry', TIMEOUT, async () => {
  expect(await mustRun(oldestNode, ['each-entry.cjs'], project.folder)).toBe('loaded\n')
})

describe('the command line', { timeout: 90_000 }, () => {
  const bin = () => join(project.folder, 'node_modules/.bin/messaging-webhooks')

  test('runs with npx', async () => {
    expect(await mustRun('npx', ['--no', 'messaging-webhooks', '--version'], project.folder)).toMatch(
      /^\d+\.\d+\.\d+\n$/,
    )
  })

  test('runs on Node 22.13, each of its commands', async () => {
    for (const command of ['emulate', 'listen', 'trigger', 'verify', 'dead-letters'])
      expect(await mustRun(oldestNode, [bin(), command, '--help'], project.folder)).toContain(
        `Usage: messaging-webhooks ${command} `,
      )
  })

  test('names the versions of Node that share a file, while an app on Node 22.13 has it open', async () => {
    const app = await openFile(oldestNode, project.folder)
    expect(app.said).toBe('opened')
    const args = ['--disable-warning=ExperimentalWarning', bin(), 'events', 'list', '--store', 'one-file.db']
    const { code, stderr } = await runProgram(oldestNode, args, { cwd: project.folder })
    await app.end()
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^error: Another process has .* a Node\.js that can share it \(22\.22\.3 or later, 24\.15 or later\)/m,
    )
  })

  test('says that the store needs a Node with SQLite', async () => {
    await writeFile(join(project.folder, 'some.db'), '')
    const args = ['--no-experimental-sqlite', bin(), 'dead-letters', 'list', '--store', 'some.db']
    const { code, stdout, stderr } = await runProgram(oldestNode, args, { cwd: project.folder })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toMatch(
      /^error: This Node has no `node:sqlite`\. This is Node 22\.13\.\d+\. Use Node 22\.13 or later, built with SQLite/,
    )
  })
})

test('`deliver` says what to install without supertest', { timeout: 90_000 }, async () => {
  const installed = join(project.folder, 'node_modules/supertest')
  const hidden = join(project.folder, 'node_modules/.supertest')
  await rename(installed, hidden)
  onTestFinished(() => rename(hidden, installed))
  const program = `import { deliver } from 'messaging-webhooks/testing'
await deliver(() => {}, {}).catch((error) => console.log(error.code, error.message.includes('npm install --save-dev supertest')))`
  for (const node of [process.execPath, oldestNode])
    expect(await mustRun(node, ['--input-type=module', '-e', program], project.folder)).toBe('peer_missing true\n')
})

test.each([
  ['pg', 'postgres', 'peer.mjs'],
  ['pg', 'postgres', 'peer.cjs'],
  ['mysql2', 'mysql', 'peer.mjs'],
  ['mysql2', 'mysql', 'peer.cjs'],
])('without %s, the entry %s says to install it in %s, on Node 22.13 too', async (peer, name, file) => {
  for (const node of [process.execPath, oldestNode])
    expect(await mustRun(node, [file, name], project.folder)).toBe(`${name} peer_missing npm install ${peer}\n`)
})

test('Jest runs a receiver, its stores and the testing kit without a flag, on Node 22.13 too', TIMEOUT, async () => {
  const jest = join(project.folder, 'node_modules/jest/bin/jest.js')
  for (const node of [process.execPath, oldestNode]) {
    const { code, stderr } = await runProgram(node, [jest, '--ci'], { cwd: project.folder })
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/Tests:\s+4 passed, 4 total/)
  }
})

test('Node loads the same modules for `import` and `require`', TIMEOUT, async () => {
  const program = `import { OptionsError } from 'messaging-webhooks'
import { createRequire } from 'node:module'
console.log(createRequire(import.meta.url)('messaging-webhooks').OptionsError === OptionsError)`
  for (const node of [process.execPath, oldestNode])
    expect(await mustRun(node, ['--input-type=module', '-e', program], project.folder)).toBe('true\n')
})
