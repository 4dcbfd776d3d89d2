/** The guide's first five minutes, as a reader does them: the packed package, its app, its commands. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readPage } from '../../docs/markdown.ts'
import { pack } from '../package/packed.ts'
import { freePort } from '../support/free-port.ts'
import { startProgram } from '../support/program.ts'
import { shell } from './shell.ts'

/** The address of the project stands for this checkout, whose committed state is cloned. */
const CLONED_HERE = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: `url.${join(import.meta.dirname, '../..')}.insteadOf`,
  GIT_CONFIG_VALUE_0: 'https://github.com/messaging-webhooks/messaging-webhooks.git',
}

test('the app and the commands of the guide print the output in the guide', { timeout: 300_000 }, async () => {
  const { blocks } = readPage('docs/guides/getting-started.md')
  const app = blocks.find(({ language }) => language === 'js')?.code ?? ''
  const [install = '', start = '', send = '', refuse = '', ...more] = blocks
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => code)
  expect(more).toEqual([])
  const [keys = '', ...triggers] = send.trim().split('\n')

  const [clone = '', packing = '', ...rest] = install.trim().split('\n')
  const root = await mkdtemp(join(tmpdir(), 'messaging-webhooks-started-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await shell(`${clone} && test -f package.json`, root, { env: CLONED_HERE })
  // Every checkout begins with `npm ci`. A second build takes as long as the rest of this test.
  expect(packing).toMatch(/^npm ci && npm pack --pack-destination \.\. /)
  expect(packing).toContain(`../${(await pack(root)).slice(root.length + 1)}`)
  await shell(rest.join(' && '), join(root, 'messaging-webhooks'))

  const cwd = join(root, 'my-app')
  await writeFile(join(cwd, 'app.js'), app)
  const port = String(await freePort())
  const { child, ended } = startProgram('sh', ['-c', start.replace(/(?=node app)/, 'exec ')], {
    cwd,
    env: { PORT: port },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await vi.waitFor(() => fetch(`http://localhost:${port}/`), { timeout: 60_000, interval: 100 })

  const sent = await shell(`${keys}; ${triggers.join(' && ')}`.replaceAll(':3000', `:${port}`), cwd)
  expect(sent.stdout.match(/^204 /gm)).toHaveLength(4)
  const [malformed = '', mismatch = ''] = refuse.replaceAll(':3000', `:${port}`).trim().split('\n')
  expect((await shell(malformed, cwd)).stdout).toContain('401 Unauthorized')
  expect((await shell(`${keys}; ${mismatch}`, cwd, { code: 4 })).stdout).toMatch(/^401 /)

  child.kill('SIGTERM')
  const { stdout, stderr } = await ended
  expect(stdout.trim().split('\n')).toEqual([
    `Listening on port ${port}`,
    'message.delivered m-1',
    'message.failed m-2',
    'message.delivered m-3',
  ])

  // The refusals are all that alarms, as the guide shows them.
  const shown =
    blocks
      .find(({ language }) => language === 'text')
      ?.code.trim()
      .split('\n') ?? []
  expect(shown).toHaveLength(2)
  expect(stderr.match(/^.*messaging-webhooks .*$/gm)).toEqual(
    shown.map((line): unknown => expect.stringContaining(line.replace(/ …$/, ''))),
  )
})
