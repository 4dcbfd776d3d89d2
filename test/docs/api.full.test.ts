/** The pages of the API are those of the sources, and every public symbol says what it is. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../../docs/markdown.ts'
import { runProgram } from '../support/program.ts'

test('`npm run docs:api` would write what stands there', { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'api-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const typedoc = join(ROOT, 'node_modules/typedoc/bin/typedoc')
  // It fails where a symbol has no comment, or a comment's link leads nowhere.
  const args = [typedoc, '--out', folder, '--treatWarningsAsErrors']
  const { code, stdout, stderr } = await runProgram(process.execPath, args, { cwd: ROOT, env: { NO_COLOR: '1' } })
  expect(code, `${stdout}${stderr}`).toBe(0)
  expect(pagesIn(folder)).toEqual(pagesIn(join(ROOT, 'docs/api')))
})

function pagesIn(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}
