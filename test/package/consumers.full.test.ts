/** Tiny projects that install the packed tarball and use each of its entries; whatever is missing turns them red. */
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../support/program.ts'
import { emptyProject, mustRun, pack, type EmptyProject } from './packed.ts'

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

let project: EmptyProject
let oldestNode: string

beforeAll(async () => {
  project = await emptyProject()
  const others = ['zod@4', 'fast-check@4', '@opentelemetry/api@1.9.0', '@types/node@24', 'node22@npm:node@22.13']
  await project.install(await pack(project.folder), ...others)
  oldestNode = join(project.folder, 'node_modules/node22/bin/node')
}, 240_000)

afterAll(() => project.remove())

describe('TypeScript, strict and with the libraries checked', { timeout: 240_000 }, () => {
  // exactOptionalPropertyTypes changes what our types mean, not where they are found: not every pair is needed.
  const RESOLUTIONS = {
    node16: ['--module', 'node16', '--exactOptionalPropertyTypes'],
    bundler: ['--module', 'esnext', '--moduleResolution', 'bundler', '--exactOptionalPropertyTypes'],
  }
  const MAIN_SAYS = '204 message.delivered m-1 true function function\n'

  test.each(Object.entries(RESOLUTIONS))('%s', async (resolution, options) => {
    await compile(['main.mts'], `out-${resolution}`, options)
    expect(await ran(process.execPath, `out-${resolution}/main.mjs`)).toBe(MAIN_SAYS)
  })

  test('nodenext: each entry, the root also as CommonJS, and what runs on Node 22.13 too', async () => {
    const files = ['main.mts', 'main.cts', 'conformance.mts', 'emulator.mts', 'otel.mts']
    await compile(files, 'out', ['--module', 'nodenext'])
    expect(await ran(process.execPath, 'out/main.mjs')).toBe(MAIN_SAYS)
    expect(await ran(process.execPath, 'out/conformance.mjs')).toBe('true true sqlite function\n')
    for (const node of [process.execPath, oldestNode]) {
      expect(await ran(node, 'out/main.cjs')).toBe('function string\n')
      expect(await ran(node, 'out/emulator.mjs')).toBe('200 message.delivered 1\n')
      expect(await ran(node, 'out/otel.mjs')).toBe('204 m-1 undefined\n')
    }
  })

  async function compile(files: readonly string[], out: string, options: readonly string[]): Promise<void> {
    const always = ['--strict', '--target', 'es2022', '--types', 'node', '--skipLibCheck', 'false', '--outDir', out]
    await mustRun(process.execPath, [tsc, ...always, ...options, ...files], project.folder)
  }

  function ran(node: string, file: string): Promise<string> {
    return mustRun(node, [file], project.folder)
  }
})

// Node requires the ES modules, by the condition `module-sync`: the oldest that is supported, too.
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

  test('can be imported by a Node without SQLite, and start() says that it cannot be opened', async () => {
    for (const node of [process.execPath, oldestNode])
      expect(await mustRun(node, ['--no-experimental-sqlite', file], project.folder)).toBe(
        'sqlite true store_unsupported\n',
      )
  })
})

describe('the command line', { timeout: 90_000 }, () => {
  const bin = () => join(project.folder, 'node_modules/.bin/messaging-webhooks')

  test('is found by npx', async () => {
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

  test('says of a Node without SQLite that the store needs one that has it', async () => {
    await writeFile(join(project.folder, 'some.db'), '')
    const args = ['--no-experimental-sqlite', bin(), 'dead-letters', 'list', '--store', 'some.db']
    const { code, stdout, stderr } = await runProgram(oldestNode, args, { cwd: project.folder })
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
    expect(stderr).toMatch(
      /^error: This Node has no `node:sqlite`\. This is Node 22\.13\.\d+\. Use Node 22\.13 or later, built with SQLite/,
    )
  })
})

test('`deliver` says what to install where supertest is not there', { timeout: 90_000 }, async () => {
  const program = `import { deliver } from 'messaging-webhooks/testing'
await deliver(() => {}, {}).catch((error) => console.log(error.code, error.message.includes('npm install --save-dev supertest')))`
  for (const node of [process.execPath, oldestNode])
    expect(await mustRun(node, ['--input-type=module', '-e', program], project.folder)).toBe('peer_missing true\n')
})

test.each(['postgres.mjs', 'postgres.cjs'])('without pg, %s is told to install it, on Node 22.13 too', async (file) => {
  for (const node of [process.execPath, oldestNode])
    expect(await mustRun(node, [file], project.folder)).toBe('postgres peer_missing npm install pg\n')
})

test('the store conformance suite can be required, on Node 22.13 too', async () => {
  const program = "console.log(typeof require('messaging-webhooks/store-conformance').storeConformance)"
  for (const node of [process.execPath, oldestNode])
    expect(await mustRun(node, ['-e', program], project.folder)).toBe('function\n')
})

test('the vectors can be required, and imported as JSON, on Node 22.13 too', async () => {
  const program = `import all from 'messaging-webhooks/vectors/index.json' with { type: 'json' }
import { createRequire } from 'node:module'
const { vectors } = createRequire(import.meta.url)('messaging-webhooks/vectors')
console.log(all.version, vectors.proof.length > 0 && all.proof.length === vectors.proof.length)`
  for (const node of [process.execPath, oldestNode])
    expect(await mustRun(node, ['--input-type=module', '-e', program], project.folder)).toBe('1 true\n')
})
