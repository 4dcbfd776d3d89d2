/** The packed files: pages whose links lead somewhere, entry points that are files, and the addresses that registries show. */
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createReceiver as fromPackage } from 'messaging-webhooks'
import { z } from 'zod'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMarkdown, readProjectFile } from '../../docs/markdown.ts'
import { createReceiver as fromSource } from '../../src/index.ts'
import { ERRORS } from '../../src/public/error-table.ts'
import { mustRun, pack } from './packed.ts'

const MANIFEST: unknown = JSON.parse(readProjectFile('package.json'))
const entry = z.record(z.string(), z.unknown())
const { exports: EXPORTS } = z.object({ exports: z.record(z.string(), entry.or(z.string())) }).parse(MANIFEST)

let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'messaging-webhooks-packed-'))
  await mustRun('tar', ['xzf', await pack(folder), '-C', folder])
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every relative link and picture of a packed page is packed too', () => {
  const installed = join(folder, 'package')
  const packed = readdirSync(installed, { recursive: true, encoding: 'utf8' })
  const pages = packed.filter((path) => path.endsWith('.md'))
  expect(pages.length).toBeGreaterThan(40)
  const dead = pages.flatMap((page) =>
    readMarkdown(readFileSync(join(installed, page), 'utf8'))
      .links.map((link) => link.split('#')[0] ?? '')
      .filter((path) => path !== '' && !path.includes(':') && !packed.includes(join(dirname(page), path)))
      .map((path) => `${page}: ${path}`),
  )
  expect(dead).toEqual([])
  expect(packed.filter((path) => path.includes('.built'))).toEqual([])
})

test('the packed types are those that an entry point leads to, and have the doc comments', () => {
  const at = (path: string): string => join(folder, 'package/dist', path)
  expect(readFileSync(at('receiver/surface.d.ts'), 'utf8')).toContain('/** A receiver.')
  expect(existsSync(at('receiver/signals.d.ts'))).toBe(false)
})

test('the packed code is joined, without the doc comments', () => {
  const code = globSync('**/*.js', { cwd: join(folder, 'package/dist'), exclude: ['inspector/page/**'] })
  expect(code).toContain('index.js')
  expect(code).not.toContain('receiver/signals.js')
  for (const path of code) expect(readFileSync(join(folder, 'package/dist', path), 'utf8'), path).not.toContain('/**')
})

test('the thread of an SQLite file is one file, which an app that is bundled has to keep', () => {
  const code = readFileSync(join(folder, 'package/dist/sqlite/worker.js'), 'utf8')
  const imported = [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g)].map(([, name]) => name)
  expect(imported).toContain('node:worker_threads')
  expect(imported.filter((name) => name?.startsWith('node:') !== true)).toEqual([])
})

test('the entry points that are files are packed', () => {
  const files = Object.values(EXPORTS).filter((each) => typeof each === 'string')
  expect(files).toEqual(['./docs/openapi.json', './package.json'])
  expect(files.filter((path) => !existsSync(join(folder, 'package', path)))).toEqual([])
})

test('package.json has the repository, the homepage and the issues at one address', () => {
  const { repository, homepage, bugs } = z
    .object({
      repository: z.object({ type: z.literal('git'), url: z.string() }),
      homepage: z.url(),
      bugs: z.object({ url: z.url() }),
    })
    .parse(MANIFEST)
  const [, address = ''] = /^git\+(https:\/\/.+)\.git$/.exec(repository.url) ?? []
  expect(address).toMatch(/\/messaging-webhooks$/)
  expect([homepage, bugs.url]).toEqual([`${address}#readme`, `${address}/issues`])
})

test('a test that imports the package runs its sources, not the last build', () => {
  expect(fromPackage).toBe(fromSource)
})

test('each entry point names its source, which tests, types, unused exports and the API pages are made from', () => {
  const entries = Object.values(EXPORTS).filter((each) => typeof each !== 'string')
  expect(entries.length).toBeGreaterThan(10)
  for (const each of entries) {
    const built = z.string().parse(each['default'])
    expect(Object.entries(each)[0]).toEqual([
      '@messaging-webhooks/source',
      built.replace('./dist/', './src/').replace(/\.js$/, '.ts'),
    ])
  }
})

test('the oldest Node is the same in package.json, in the check at import and in its error', () => {
  const { engines } = z.object({ engines: z.object({ node: z.string() }) }).parse(MANIFEST)
  const oldest = engines.node.replace('>=', '')
  expect(readProjectFile('src/runtime/supported-node.ts')).toContain(`= [${oldest.replace('.', ', ')}] as const`)
  expect(ERRORS.node_unsupported[1]).toBe(`Use Node.js ${oldest} or later.`)
})

test('an app may have any version of an optional package, whether it uses it with this one or not', () => {
  const { peerDependencies, peerDependenciesMeta } = z
    .object({
      peerDependencies: z.record(z.string(), z.string()),
      peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.literal(true) })),
    })
    .parse(MANIFEST)
  expect([...new Set(Object.values(peerDependencies))]).toEqual(['*'])
  expect(Object.keys(peerDependenciesMeta)).toEqual(Object.keys(peerDependencies))
})

test('a resolution without `exports` finds the root, and the types of each entry point', () => {
  const entry = z.object({ types: z.string(), require: z.object({ default: z.string() }) })
  const { exports, main, types, typesVersions } = z
    .object({
      exports: z.record(z.string(), entry.or(z.string())),
      main: z.string(),
      types: z.string(),
      typesVersions: z.object({ '*': z.record(z.string(), z.tuple([z.string()])) }),
    })
    .parse(MANIFEST)
  const entries = Object.entries(exports).flatMap(([name, each]) =>
    typeof each === 'string' ? [] : [[name, each] as const],
  )
  const byName = new Map(entries)
  expect([main, types]).toEqual([byName.get('.')?.require.default, byName.get('.')?.types])
  const others = entries.filter(([name]) => name !== '.').map(([name, each]) => [name.slice(2), [each.types]])
  expect(typesVersions['*']).toEqual(Object.fromEntries(others))
})
