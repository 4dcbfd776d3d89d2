/**
 * Every command of the pages in a shell, as written but for ports, hosts and what a reader has to fill in. Those of the first guide
 * run in `getting-started.full.test.ts`.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { PAGES, readPage } from '../../docs/markdown.ts'
import { mustRun, pack } from '../package/packed.ts'
import { freePort } from '../support/free-port.ts'
import { startProgram } from '../support/program.ts'
import { shell } from './shell.ts'

const GUIDE = 'docs/guides/getting-started.md'

/** What no test here can run, and why. */
const LEFT_OUT = [
  // `getting-started` shows that the README's commands are those of the guide.
  /^git clone |^npm ci && npm pack |^mkdir \.\.\/my-app |^npm install express /,
  // The build of every checkout runs `npm ci`, and `examples.full.test.ts` runs `npm start`.
  /^npm ci && npm start$/,
  // `containers.full.test.ts` runs the container's program under the same limits: the machines of the tests have no engine.
  /^docker run /,
]

/** The lines of a page that a shell runs, without comments. */
function linesOf(page: string): string[] {
  const { blocks } = readPage(page)
  const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ code }) => code.trim().split('\n'))
  return lines.map((line) => line.replace(/ +# .*$/, ''))
}

const DEAD_LETTERS = `
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback, deliver } from 'messaging-webhooks/testing'
const credentials = { authKey: process.env.AUTH_KEY, signingSecret: process.env.SIGNING_SECRET }
const receiver = createReceiver({ credentials, store: sqliteStore('inbox.db'), retry: { attempts: 1 }, logger: false })
receiver.on('message.failed', () => Promise.reject(new Error('no luck')))
for (const messageId of ['m-1', 'm-2'])
  await deliver(receiver.middleware('status'), callback.smsDelivery({ messageId, status: 'network_failure' }), credentials)
await receiver.drain()
await receiver.close()
`

test('every command of the pages does what they say', { timeout: 300_000 }, async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'messaging-webhooks-commands-'))
  onTestFinished(() => rm(cwd, { recursive: true, force: true }))
  const left = new Set(PAGES.filter((page) => page !== GUIDE).flatMap(linesOf))
  /** Takes the lines that match, of which there is at least one. */
  function take(pattern: RegExp): readonly string[] {
    const taken = [...left].filter((line) => pattern.test(line))
    expect(taken, `lines with ${pattern}`).not.toEqual([])
    for (const line of taken) left.delete(line)
    return taken
  }
  for (const pattern of LEFT_OUT) take(pattern)

  const keys = 'export AUTH_KEY=my-auth-key SIGNING_SECRET=my-signing-secret'
  take(/^export .*AUTH_KEY=…/)
  const [exportStore = ''] = take(/^export STORE_URL=postgres:\S+$/)
  const withKeys = (line: string): string => `${keys}; ${line.replaceAll(/\w+=… /g, '')}`

  await mustRun('npm', ['init', '--yes'], cwd)
  await mustRun('npm', ['pkg', 'set', 'type=module'], cwd)
  // One installation of all takes a fraction of the time.
  const packages = take(/^npm install /).flatMap((line) => line.replace(/^npm install (--save-dev )?/, '').split(' '))
  expect(packages).toEqual(expect.arrayContaining(['pg', 'mysql2', 'redis', 'vitest', 'supertest']))
  await shell(`npm install express ${await pack(cwd)} ${packages.join(' ')}`, cwd)

  /** Starts a command, and waits until it has printed this. */
  async function started(line: string, printed: RegExp) {
    const { child, ended } = startProgram('sh', ['-c', withKeys(line)], { cwd, isGroup: true })
    const signal = (name: NodeJS.Signals) => child.pid !== undefined && process.kill(-child.pid, name)
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null) signal('SIGKILL')
      await ended
    })
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await vi.waitFor(() => expect(text).toMatch(printed), { timeout: 60_000 })
    return {
      text,
      async interrupt() {
        signal('SIGINT')
        await ended
      },
    }
  }

  await writeFile(join(cwd, 'dead-letters.js'), DEAD_LETTERS)
  await shell(withKeys('node dead-letters.js'), cwd)
  const [list = ''] = take(/dead-letters list/)
  const { stdout: listed } = await shell(withKeys(list), cwd)
  const id = /[0-9a-f]{32,}/.exec(listed)?.[0] ?? ''
  expect(id, listed).not.toBe('')
  const one = take(/<id>/).map((line) => withKeys(line.replace('<id>', id)))
  expect(one).toHaveLength(2)
  const [shown, replayed] = [await shell(one[0] ?? '', cwd), await shell(one[1] ?? '', cwd)]
  expect(shown.stdout).toContain('no luck')
  expect(replayed.stdout).toBe('1 dead letter due again.\n')
  const [replayAll = ''] = take(/dead-letters replay --all/)
  const rest = await shell(withKeys(`${exportStore.replace(/postgres:\S+/, 'inbox.db')}; ${replayAll}`), cwd)
  expect(rest.stdout).toBe('1 dead letter due again.\n')
  const [inspect = ''] = take(/webhooks inspect /)
  const inspector = await started(inspect, /http:\/\/127\.0\.0\.1:\d+\/\?token=/)
  const address = /http:\S+/.exec(inspector.text)?.[0] ?? ''
  expect((await fetch(address, { redirect: 'manual' })).status).toBe(302)
  await inspector.interrupt()
  for (const line of take(/--store inbox\.db/)) await shell(withKeys(line), cwd)

  const port = String(await freePort())
  const local = (line: string): string =>
    line.replace('https://app.example', 'http://localhost:3000').replaceAll('3000', port)
  const [listen = '', trigger = ''] = [take(/webhooks listen/)[0], take(/webhooks trigger/)[0]]
  const listener = await started(local(listen), /listening/i)
  expect((await shell(withKeys(local(trigger)), cwd)).stdout).toMatch(/^204 /m)
  await listener.interrupt()

  await writeFile(join(cwd, 'body.json'), '{}')
  const header = signCallback(Buffer.from('{}'), 'my-signing-secret')
  const [verify = ''] = take(/webhooks verify/)
  await shell(withKeys(verify.replace('t=…,v1=…', header)), cwd)

  await writeFile(join(cwd, 'app.js'), readPage(GUIDE).blocks.find(({ language }) => language === 'js')?.code ?? '')
  const app = await started(`PORT=${port} node app.js`, /Listening on port/)
  for (const line of take(/webhooks doctor/)) await shell(withKeys(local(line)), cwd)
  await app.interrupt()

  expect([...left]).toEqual([])
})
