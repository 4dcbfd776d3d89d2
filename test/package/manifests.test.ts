/**
 * Two manifests: `npm ci` installs the packages of `package.json`, which are enough for the build, the examples and the quick
 * tests. `npm run install:all` adds those of `.ci/package.json`.
 */
import { globSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readProjectFile, ROOT } from '../../docs/markdown.ts'

const versions = z.record(z.string(), z.string()).default({})
const manifest = z.object({ name: z.string(), dependencies: versions, devDependencies: versions })

function readManifest(path: string): { readonly name: string; readonly packages: readonly string[] } {
  const { name, dependencies, devDependencies } = manifest.parse(JSON.parse(readProjectFile(path)))
  return { name, packages: [...Object.keys(dependencies), ...Object.keys(devDependencies)] }
}

const OWN = readManifest('package.json')
const CI = readManifest('.ci/package.json')

/** Run or compiled after `npm ci` alone, with all files that they import. */
const WITHOUT_CI = [
  'build.ts',
  'vitest.config.ts',
  'docs/generate.ts',
  'src/**/*.ts',
  'examples/**/*.ts',
  'test/**/*.test.ts',
  'test/**/programs/*.ts',
]
/** The Nest example has its own compiler options, and only a full test compiles and runs it. */
const WITH_CI = ['examples/nest/**', 'test/**/*.full.test.ts']

/** The modules that the files import, and those that their relative imports do, by the importing file. */
function importsOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const imports = new Map<string, readonly string[]>()
  const waiting = [...files]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (imports.has(file)) continue
    const { importedFiles } = ts.preProcessFile(readProjectFile(file), true, true)
    const names = importedFiles.map(({ fileName }) => fileName)
    imports.set(file, names)
    const folder = dirname(file)
    waiting.push(
      ...names.filter((name) => name.startsWith('.') && name.endsWith('.ts')).map((name) => join(folder, name)),
    )
  }
  return imports
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

test('the sources, the examples and the quick tests import only packages that npm ci installs', () => {
  const files = globSync(WITHOUT_CI, { cwd: ROOT, exclude: WITH_CI })
  const imports = importsOf(files)
  expect(imports.size).toBeGreaterThan(400)
  const known = new Set([OWN.name, ...OWN.packages])
  const others = [...imports].flatMap(([file, names]) =>
    names
      .filter((name) => !name.startsWith('.') && !isBuiltin(name))
      .map(packageOf)
      .filter((name) => !known.has(name) && !known.has(`@types/${name}`))
      .map((name) => `${file}: ${name}`),
  )
  expect(others).toEqual([])
})

test('no package is in both', () => {
  expect(CI.packages.filter((name) => OWN.packages.includes(name))).toEqual([])
})

test('the packages of both are installed in one folder, where every file finds them', () => {
  const { packages } = z
    .object({ packages: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(readProjectFile('package-lock.json')))
  const paths = Object.keys(packages)
  expect(CI.packages.filter((name) => !paths.includes(`node_modules/${name}`))).toEqual([])
  expect(paths.filter((path) => path.startsWith('.ci/'))).toEqual([])
})
