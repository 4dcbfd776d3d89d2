/** `npm run test:matrix`: tests the packed tarball on every supported Node, one line a version. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { runProgram } from '../support/program.ts'
import { checkOneFile } from './one-file.ts'
import { emptyProject, mustRun, pack } from './packed.ts'

/** The oldest first: two processes must not write with its SQLite, 3.47. */
const VERSIONS = ['22.13', '22', '24', '26'] as const
const OLD_SQLITE = VERSIONS[0]
/** Each consumer with its output on success. */
const CONSUMERS: Readonly<Record<string, Consumer>> = {
  'ES modules': { file: 'main.mjs', prints: '204 message.delivered m-1\n' },
  require: { file: 'main.cjs', prints: '204 message.delivered m-1\n' },
  TypeScript: { file: 'out/main.mjs', prints: '204 message.delivered m-1 true function function\n' },
  SQLite: {
    file: 'sqlite.mjs',
    prints: 'sqlite true started\n',
    // Node 22 warns that `node:sqlite` is experimental.
    options: ['--disable-warning=ExperimentalWarning'],
  },
}

interface Consumer {
  readonly file: string
  readonly prints: string
  readonly options?: readonly string[]
}

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const project = await emptyProject()
try {
  const nodes = VERSIONS.map((version) => `node${version}@npm:node@${version}`)
  await project.install(await pack(project.folder), 'zod@4', '@types/node@24', ...nodes)
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--outDir', 'out']
  await mustRun(process.execPath, [tsc, ...options, 'main.mts'], project.folder)
  for (const version of VERSIONS) console.log(await smokeTest(version))
  console.log(await oneFileTest())
} finally {
  await project.remove()
}

async function findNode(asked: string): Promise<{ readonly node: string; readonly version: string }> {
  const node = join(project.folder, `node_modules/node${asked}/bin/node`)
  const version = (await mustRun(node, ['--version'])).trim()
  // Another version of Node must not pass for the requested one.
  if (!version.startsWith(`v${asked}.`)) throw new Error(`Asked for Node ${asked} and got ${version}.`)
  return { node, version }
}

async function oneFileTest(): Promise<string> {
  const { node, version } = await findNode(OLD_SQLITE)
  const sqlite = (await mustRun(node, ['-p', 'process.versions.sqlite'])).trim()
  const wrong = await checkOneFile(node, project.folder)
  if (wrong !== undefined) process.exitCode = 1
  const outcome = wrong === undefined ? 'the second process on a file is refused: ok' : `one file FAILED: ${wrong}`
  return `Node ${version.padEnd(10)} SQLite ${sqlite}: ${outcome}`
}

async function smokeTest(asked: string): Promise<string> {
  const { node, version } = await findNode(asked)
  const outcomes: string[] = []
  for (const [name, { file, options = [], prints }] of Object.entries(CONSUMERS)) {
    const { code, stdout, stderr } = await runProgram(node, [...options, file], { cwd: project.folder })
    const isRight = code === 0 && stdout === prints && stderr === ''
    if (!isRight) process.exitCode = 1
    outcomes.push(isRight ? `${name} ok` : `${name} FAILED (exit ${code})\n${stdout}${stderr}`)
  }
  return `Node ${version.padEnd(10)} ${outcomes.join('   ')}`
}
