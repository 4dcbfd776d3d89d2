/** The packed files: the README, whose links registries can resolve, and the vectors as plain files, in one file, and as a module. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vectors } from 'messaging-webhooks/vectors'
import { z } from 'zod'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMarkdown, readProjectFile } from '../../docs/markdown.ts'
import { runProgram } from '../support/program.ts'
import { describePython, PYTHON_ENV } from '../support/python.ts'
import { mustRun, pack } from './packed.ts'

const SOURCES = join(import.meta.dirname, '../../src/vectors')

let project: string
let installed: string

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'messaging-webhooks-vectors-'))
  installed = join(project, 'node_modules/messaging-webhooks')
  mkdirSync(join(project, 'node_modules'))
  await mustRun('tar', ['xzf', await pack(project), '-C', project])
  renameSync(join(project, 'package'), installed)
  symlinkSync(join(import.meta.dirname, '../../node_modules/zod'), join(project, 'node_modules/zod'))
}, 120_000)

afterAll(() => rmSync(project, { recursive: true, force: true }))

test('every relative link of the packed README, and its picture, is packed too', async () => {
  const packed = (await mustRun('find', ['.', '-type', 'f'], installed)).split('\n')
  const { links } = readMarkdown(readFileSync(join(installed, 'README.md'), 'utf8'))
  const relative = links.map((link) => link.split('#')[0] ?? '').filter((path) => path !== '' && !path.includes(':'))
  expect(relative.filter((path) => !packed.includes(`./${path}`))).toEqual([])
  expect(packed.filter((path) => path.includes('.built'))).toEqual([])
})

test('package.json has the repository, the homepage and the issues at one address', () => {
  const { repository, homepage, bugs } = z
    .object({
      repository: z.object({ type: z.literal('git'), url: z.string() }),
      homepage: z.url(),
      bugs: z.object({ url: z.url() }),
    })
    .parse(JSON.parse(readProjectFile('package.json')))
  const [, address = ''] = /^git\+(https:\/\/.+)\.git$/.exec(repository.url) ?? []
  expect(address).toMatch(/\/messaging-webhooks$/)
  expect([homepage, bugs.url]).toEqual([`${address}#readme`, `${address}/issues`])
})

test('packs each file of the vectors unchanged', () => {
  const names = readdirSync(SOURCES).filter((name) => name.endsWith('.json'))
  expect(names).toHaveLength(5)
  for (const name of names)
    expect(readFileSync(join(installed, 'dist/vectors', name), 'utf8')).toBe(readFileSync(join(SOURCES, name), 'utf8'))
})

test('index.json has all vectors', () => {
  expect(JSON.parse(readFileSync(join(installed, 'dist/vectors/index.json'), 'utf8'))).toEqual(vectors)
})

describePython('the packed runner', () => {
  test('finds the packed vectors and the packed model', async () => {
    const runner = join(installed, 'examples/vectors/run.py')
    const { code, stdout } = await runProgram('python3', [runner], { env: PYTHON_ENV })
    expect(code).toBe(0)
    expect(stdout).toContain(`proof: ${vectors.proof.length} vectors\n`)
  })
})

test.each([
  ['import', `import { vectors } from 'messaging-webhooks/vectors'`],
  [
    'import of all as JSON',
    `import vectors from 'messaging-webhooks/vectors/index.json' with { type: 'json' }
     import schema from 'messaging-webhooks/vectors/schema.json' with { type: 'json' }
     if (schema.$defs.proof === undefined) throw new Error('no schema')`,
  ],
  [
    'require',
    `import { createRequire } from 'node:module'
     const { vectors } = createRequire(import.meta.url)('messaging-webhooks/vectors')`,
  ],
])('%s', async (_, statement) => {
  const program = `${statement}\nconsole.log(vectors.version, vectors.proof.length)`
  const printed = await mustRun(process.execPath, ['--input-type=module', '-e', program], project)
  expect(printed).toBe(`1 ${vectors.proof.length}\n`)
})
