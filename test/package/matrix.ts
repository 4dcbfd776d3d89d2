/** `npm run test:matrix`: the packed tarball on every Node that is supported, a line a version. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { runProgram } from '../support/program.ts'
import { emptyProject, mustRun, pack } from './packed.ts'

const VERSIONS = ['20.19', '22', '24', '26']
/** Each consumer with what it prints when it has taken its callback. */
const CONSUMERS = {
  'ES modules': { file: 'main.mjs', prints: '204 message.delivered m-1\n' },
  require: { file: 'main.cjs', prints: '204 message.delivered m-1\n' },
  TypeScript: { file: 'out/main.mjs', prints: '204 message.delivered m-1 true function function\n' },
}

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const project = await emptyProject()
try {
  const nodes = VERSIONS.map((version) => `node${version}@npm:node@${version}`)
  await project.install(await pack(project.folder), 'zod@4', '@types/node@24', ...nodes)
  const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--outDir', 'out']
  await mustRun(process.execPath, [tsc, ...options, 'main.mts'], project.folder)
  for (const version of VERSIONS) console.log(await smokeTest(version))
} finally {
  await project.remove()
}

async function smokeTest(asked: string): Promise<string> {
  const node = join(project.folder, `node_modules/node${asked}/bin/node`)
  const version = (await mustRun(node, ['--version'])).trim()
  // A Node that is not the one asked for would pass for it.
  if (!version.startsWith(`v${asked}.`)) throw new Error(`Asked for Node ${asked} and got ${version}.`)
  const outcomes: string[] = []
  for (const [name, { file, prints }] of Object.entries(CONSUMERS)) {
    const { code, stdout, stderr } = await runProgram(node, [file], { cwd: project.folder })
    const isRight = code === 0 && stdout === prints && stderr === ''
    if (!isRight) process.exitCode = 1
    outcomes.push(isRight ? `${name} ok` : `${name} FAILED (exit ${code})\n${stdout}${stderr}`)
  }
  return `Node ${version.padEnd(10)} ${outcomes.join('   ')}`
}
