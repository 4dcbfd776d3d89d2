/** The example of NestJS, with decorators: checked with its own compiler options, and run by Node.js on both platforms. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readProjectFile, ROOT } from '../../docs/markdown.ts'
import { freePort } from '../support/free-port.ts'
import { runProgram, startProgram } from '../support/program.ts'
import { AUTH_KEY, post, SIGNING_SECRET } from '../support/receiving.ts'

const TIMEOUT = { timeout: 120_000 }
const PROJECT = join(ROOT, 'examples/nest/tsconfig.json')
const FILES = ['webhooks', 'main', 'main-fastify'] as const

test('its types are checked, including those of decorated classes', TIMEOUT, async () => {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { code, stdout } = await runProgram(process.execPath, [tsc, '-p', PROJECT])
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
})

test.each(['webhooks', 'main'])('the guide shows %s.ts, word for word', (name) => {
  expect(readProjectFile('docs/guides/nest.md')).toContain(`\n${readProjectFile(`examples/nest/${name}.ts`)}\`\`\``)
})

test('the guide shows each line of main-fastify.ts that main.ts does not have', () => {
  const linesOf = (path: string): string[] => readProjectFile(path).split('\n')
  const [page, main] = [linesOf('docs/guides/nest.md'), linesOf('examples/nest/main.ts')]
  const own = linesOf('examples/nest/main-fastify.ts').filter((line) => !main.includes(line))
  expect(own.length).toBeGreaterThan(2)
  expect(own.filter((line) => !page.includes(line))).toEqual([])
})

test.each(['main', 'main-fastify'])(
  '%s.ts accepts callbacks, runs handlers that use a provider, and closes on SIGTERM',
  TIMEOUT,
  async (main) => {
    const folder = compiled()
    const port = String(await freePort())
    const { child, ended } = startProgram(process.execPath, [join(folder, `${main}.js`)], {
      env: { AUTH_KEY, SIGNING_SECRET, STORE: join(folder, 'inbox.db'), PORT: port, NO_COLOR: '1' },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const url = `http://127.0.0.1:${port}/webhooks/status`
    const delivered = callback.smsDelivery({ messageId: 'm-1' })
    const answer = await vi.waitFor(() => post(url, delivered), { timeout: 60_000, interval: 100 })
    expect(answer.status).toBe(204)
    expect((await post(url, callback.smsDelivery({ messageId: 'm-2', status: 'network_failure' }))).status).toBe(204)
    expect((await post(url, delivered)).status).toBe(204)
    child.kill()
    const { stdout, stderr } = await ended
    const shown = stdout.split('\n').filter((line) => line.startsWith('m-'))
    expect(shown).toEqual(['m-1 was delivered', 'm-2 failed: send it again'])
    expect(stderr).toBe('')
  },
)

/** In the package, so that its own name resolves to the build. */
function compiled(): string {
  const folder = mkdtempSync(join(ROOT, 'examples/nest/compiled-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const { options } = ts.convertCompilerOptionsFromJson(
    { target: 'es2023', module: 'esnext', experimentalDecorators: true, emitDecoratorMetadata: true },
    ROOT,
  )
  for (const name of FILES) {
    const source = readProjectFile(`examples/nest/${name}.ts`)
    writeFileSync(join(folder, `${name}.js`), ts.transpileModule(source, { compilerOptions: options }).outputText)
  }
  return folder
}
