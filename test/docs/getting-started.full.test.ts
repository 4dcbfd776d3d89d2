/** The guide's first five minutes, as a reader does them: the packed package, its app, its commands. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readPage } from '../../docs/markdown.ts'
import { emptyProject, mustRun, pack } from '../package/packed.ts'
import { freePort } from '../support/free-port.ts'
import { runProgram, startProgram } from '../support/program.ts'

const KEYS = { AUTH_KEY: 'my-auth-key', SIGNING_SECRET: 'my-signing-secret' }

test('the app of the guide prints the output in the guide', { timeout: 300_000 }, async () => {
  const { blocks } = readPage('docs/guides/getting-started.md')
  const app = blocks.find(({ language }) => language === 'js')?.code ?? ''
  const commands = blocks.flatMap(({ code }) => code.split('\n')).filter((line) => line.startsWith('npx '))
  expect(commands.filter((line) => line.includes(' trigger '))).toHaveLength(2)

  const project = await emptyProject()
  onTestFinished(() => project.remove())
  await project.install(await pack(project.folder), 'express@5')
  await writeFile(join(project.folder, 'app.mjs'), app)
  const port = String(await freePort())
  const env = { ...KEYS, PORT: port }
  const { child, ended } = startProgram(process.execPath, ['app.mjs'], { cwd: project.folder, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = `http://localhost:${port}/webhooks/status`
  await vi.waitFor(() => fetch(url), { timeout: 60_000, interval: 100 })

  const cli = join(project.folder, 'node_modules/.bin/messaging-webhooks')
  const [first = '', second = ''] = commands.map((line) => line.replace('localhost:3000', `localhost:${port}`))
  for (const line of [first, second, `${first} --fault duplicate`]) {
    const [, , ...args] = line.split(' ')
    // Later callbacks are from a later second, as for a reader.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    const { code, stdout, stderr } = await runProgram(process.execPath, [cli, ...args], { env: KEYS })
    expect(code, `${stdout}${stderr}`).toBe(0)
  }
  const refused = await mustRun('curl', ['-si', url, '-H', 'x-service-signature: t=1,v1=00', '-d', '{}'])
  expect(refused).toContain('401 Unauthorized')
  child.kill('SIGTERM')
  const { stdout, stderr } = await ended
  expect(stdout.trim().split('\n')).toEqual([
    `Listening on port ${port}`,
    'message.delivered m-1',
    'message.failed m-2',
    'message.delivered m-1',
  ])
  // The refusal is all that alarms.
  expect(stderr.match(/^.*messaging-webhooks.*$/gm)).toEqual([expect.stringContaining('signature_malformed')])
})
