/** The SQLite files of the built package on other runtimes. test/package/ has the same on Node. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { appFolder, binary, removeFolder } from '../../http/adapters/app-process.ts'
import { LIFE, LIFE_SAYS } from '../../package/packed.ts'
import { runProgram } from '../../support/program.ts'
import { titleWith } from '../../support/skipping.ts'

const RUNTIMES: readonly (readonly [name: string, program: string | undefined, args: readonly string[]])[] = [
  ['Bun', binary('@oven/bun-*/bin/bun'), []],
  ['Deno', binary('@deno/*/deno'), ['run', '--allow-all', '--no-remote', '--node-modules-dir=manual']],
]

for (const [name, program, args] of RUNTIMES) {
  const missing =
    program === undefined ? `the package of ${name} is not installed, or has no program for this machine` : undefined
  if (missing !== undefined && process.env['CI'] === 'true') throw new Error(missing)

  test.skipIf(missing !== undefined)(titleWith(missing, name), { timeout: 60_000 }, async () => {
    const folder = appFolder('any')
    onTestFinished(() => removeFolder(folder))
    cpSync(join(import.meta.dirname, '../../package/consumers', LIFE), join(folder, LIFE))
    const env = { DENO_NO_UPDATE_CHECK: '1', VITEST: undefined }
    const ran = await runProgram(program ?? '', [...args, LIFE], { cwd: folder, env })
    expect(ran).toEqual({ code: 0, stdout: LIFE_SAYS, stderr: '' })
  })
}
