/** Projects that cannot require ES modules: tests in Jest, and CommonJS in TypeScript under `node16`. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram } from '../support/program.ts'
import { emptyProject, mustRun, pack, type EmptyProject } from './packed.ts'

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
const PATIENT = { timeout: 120_000 }

let project: EmptyProject

beforeAll(async () => {
  project = await emptyProject()
  const others = ['jest@30', 'supertest@7', '@types/node@24', 'node22@npm:node@22.13']
  await project.install(await pack(project.folder), ...others)
}, 300_000)

afterAll(() => project.remove())

function oldestNode(): string {
  return join(project.folder, 'node_modules/node22/bin/node')
}

test('Jest without a flag runs a receiver, its stores and the testing kit, on Node 22.13 too', PATIENT, async () => {
  const jest = join(project.folder, 'node_modules/jest/bin/jest.js')
  for (const node of [process.execPath, oldestNode()]) {
    const { code, stderr } = await runProgram(node, [jest, '--ci'], { cwd: project.folder })
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/Tests:\s+4 passed, 4 total/)
  }
})

// Under node18 as under node16; nodenext takes what node20 does, and consumers.full.test.ts compiles for it.
test.each(['node16', 'node20'])('CommonJS in TypeScript under %s', PATIENT, async (module) => {
  const options = ['--strict', '--target', 'es2022', '--types', 'node', '--skipLibCheck', 'false', '--module', module]
  const files = ['main.cts', 'entries.cts']
  await mustRun(process.execPath, [tsc, ...options, '--outDir', `out-${module}`, ...files], project.folder)
  for (const node of [process.execPath, oldestNode()]) {
    expect(await mustRun(node, [`out-${module}/main.cjs`], project.folder)).toBe('function string\n')
    const options22 = ['--disable-warning=ExperimentalWarning', `out-${module}/entries.cjs`]
    expect(await mustRun(node, options22, project.folder)).toBe('true 0 true string\n')
  }
})

test('Node takes the same modules for `import` and `require`', PATIENT, async () => {
  const program = `import { OptionsError } from 'messaging-webhooks'
import { createRequire } from 'node:module'
console.log(createRequire(import.meta.url)('messaging-webhooks').OptionsError === OptionsError)`
  for (const node of [process.execPath, oldestNode()])
    expect(await mustRun(node, ['--input-type=module', '-e', program], project.folder)).toBe('true\n')
})
