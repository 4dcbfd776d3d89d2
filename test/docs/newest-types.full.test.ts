/** The pages' code compiles in a project that has the packed package and the newest `@types/node`. */
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { emptyProject, mustRun, pack } from '../package/packed.ts'
import { AMBIENT, SOURCES } from './blocks.ts'

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
/** Packages of a block, without those of Node.js. */
const IMPORTED = /(?:from |import\()'((?!node:)[^']+)'/g
const INSTALLED = [
  'express',
  'zod',
  ...['', '/client', '/emulator', '/fetch', '/inspector', '/lambda', '/sqlite', '/store', '/testing'].map(
    (entry) => `messaging-webhooks${entry}`,
  ),
]

test('each block that needs no other package compiles', { timeout: 300_000 }, async () => {
  const project = await emptyProject()
  onTestFinished(() => project.remove())
  await project.install(await pack(project.folder), '@types/node@latest', '@types/express@5', 'zod@4')
  const chosen = [...SOURCES].filter(([, code]) =>
    [...code.matchAll(IMPORTED)].every(([, name = '']) => INSTALLED.includes(name)),
  )
  expect(chosen.length).toBeGreaterThan(25)
  for (const [name, code] of [['ambient.d.ts', AMBIENT] as const, ...chosen])
    await writeFile(join(project.folder, name.replace(/(\.d)?\.ts$/, '$1.mts')), code)
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--types',
    'node',
    '--skipLibCheck',
  ]
  const files = ['ambient.d.mts', ...chosen.map(([name]) => name.replace(/\.ts$/, '.mts'))]
  await mustRun(process.execPath, [tsc, ...options, ...files], project.folder)
})
