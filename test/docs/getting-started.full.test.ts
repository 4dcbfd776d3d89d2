/** The guide's first five minutes, as a reader does them: the packed package, its app, its commands. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { PAGES, readPage } from '../../docs/markdown.ts'
import { pack } from '../package/packed.ts'
import { freePort } from '../support/free-port.ts'
import { runProgram, startProgram } from '../support/program.ts'

const QUICK_NPM = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' }

test('the app and the commands of the guide print the output in the guide', { timeout: 300_000 }, async () => {
  const { blocks } = readPage('docs/guides/getting-started.md')
  const app = blocks.find(({ language }) => language === 'js')?.code ?? ''
  const [install = '', start = '', send = '', refuse = '', ...more] = blocks
    .filter(({ language }) => language === 'sh')
    .map(({ code }) => code)
  expect(more).toEqual([])
  const [keys = '', ...triggers] = send.trim().split('\n')

  // The tarball is there already: a clone and a build would take minutes.
  const [clone = '', packing = '', ...rest] = install.trim().split('\n')
  expect(clone).toMatch(/^git clone \S+ && cd messaging-webhooks$/)
  const root = await mkdtemp(join(tmpdir(), 'messaging-webhooks-started-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  expect(packing).toContain(`../${(await pack(root)).slice(root.length + 1)}`)
  await mkdir(join(root, 'messaging-webhooks'))
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
  expect((await shell(`${keys}; ${mismatch}`, cwd, 4)).stdout).toMatch(/^401 /)

  const others = PAGES.flatMap((page) => readPage(page).blocks)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.split('\n'))
    .map((line) => line.replaceAll(/\w+=… /g, '').replaceAll(':3000', `:${port}`))
  const checks = others.filter((line) => line.includes(`doctor http://localhost:${port}`))
  expect(checks.length).toBeGreaterThan(0)
  for (const line of checks) await shell(`${keys}; ${line}`, cwd)

  child.kill('SIGTERM')
  const { stdout, stderr } = await ended
  expect(stdout.trim().split('\n')).toEqual([
    `Listening on port ${port}`,
    'message.delivered m-1',
    'message.failed m-2',
    'message.delivered m-3',
  ])
  // What other pages do with the file of a closed app, unless it needs an id or stays open.
  const ofFile = others.filter((line) => line.includes('--store inbox.db') && !/<id>|webhooks inspect/.test(line))
  expect(ofFile.length).toBeGreaterThan(4)
  for (const line of ofFile) await shell(`${keys}; ${line}`, cwd)

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

/** Runs commands as a reader's shell does. */
async function shell(commands: string, cwd: string, expectedCode = 0): ReturnType<typeof runProgram> {
  const ran = await runProgram('sh', ['-c', commands], { cwd, env: QUICK_NPM })
  expect(ran.code, `${commands}\n${ran.stdout}${ran.stderr}`).toBe(expectedCode)
  return ran
}
