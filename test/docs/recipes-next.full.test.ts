/** The recipe for Next.js: the server handles what its store has before the first request, and each event once. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import ts from 'typescript'
import { expect, onTestFinished, test } from 'vitest'
import { appFolder, mustBuild, removeFolder, startApp } from '../http/adapters/app-process.ts'
import { ownFile } from '../support/own-folder.ts'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'
import { blockOf } from './production-app.ts'
import { recipeWith } from './recipe-app.ts'

const GUIDE = 'docs/guides/fetch.md'

/** As JavaScript: for TypeScript, Next.js needs the types of React. */
function withoutTypes(code: string): string {
  const { ESNext } = ts.ModuleKind
  return ts.transpileModule(code, { compilerOptions: { module: ESNext, target: ts.ScriptTarget.ES2023 } }).outputText
}

/** The receiver of the guide, with a store. */
function receiverModule(): string {
  const code = blockOf(GUIDE, 'ts', 'shared.receiver')
  const withStore = code.replace(
    'createReceiver({',
    "createReceiver({ store: sqliteStore(process.env.STORE ?? 'inbox.db'),",
  )
  expect(withStore).not.toBe(code)
  return `import { sqliteStore } from 'messaging-webhooks/sqlite'\n${withStore}`
}

function writeApp(folder: string): void {
  rmSync(join(folder, 'app'), { recursive: true })
  const route = `import { receiver } from '@/app/receiver'\n${blockOf(GUIDE, 'ts', 'status as GET')}`
  for (const [name, text] of [
    ['jsconfig.json', JSON.stringify({ compilerOptions: { paths: { '@/*': ['./*'] } } })],
    ['app/receiver.js', withoutTypes(receiverModule())],
    ['app/webhooks/status/route.js', withoutTypes(route)],
    ['instrumentation.js', withoutTypes(recipeWith('NEXT_RUNTIME'))],
  ] as const) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** A store that keeps one event, which waits for a handler. */
async function waitingIn(file: string): Promise<void> {
  const { receiver, url } = await receiving({ store: sqliteStore(file), dispatch: false }, { kind: 'status' })
  expect((await post(url, callback.smsDelivery({ messageId: 'stored' }))).status).toBe(204)
  await receiver.close()
}

const linesWith = (output: string, word: string): number =>
  output.split('\n').filter((line) => line.includes(word)).length

async function started(command: 'start' | 'dev') {
  const folder = appFolder('next', ['next', 'react', 'react-dom'])
  onTestFinished(() => removeFolder(folder))
  writeApp(folder)
  const next = join(folder, 'node_modules/next/dist/bin/next')
  const STORE = ownFile()
  // A build starts nothing: it would handle the event.
  await waitingIn(STORE)
  if (command === 'start') await mustBuild(process.execPath, [next, 'build'], folder, { AUTH_KEY: undefined, STORE })
  const app = await startApp(
    {
      command: process.execPath,
      args: [next, command, '--port', '0', '--hostname', '127.0.0.1'],
      cwd: folder,
      env: { AUTH_KEY, SIGNING_SECRET, STORE, NODE_ENV: command === 'dev' ? 'development' : 'production' },
      says: /Local: +http:\/\/127\.0\.0\.1:(\d+)[^]*Ready/,
    },
    undefined,
    '/webhooks/status',
  )
  onTestFinished(async () => {
    await app.close()
  })
  return { app, folder }
}

test.each(['start', 'dev'] as const)(
  'next %s handles what the store has without a request, and a callback once',
  { timeout: 240_000 },
  async (command) => {
    const { app, folder } = await started(command)
    await expect.poll(app.output).toContain('stored')
    expect((await post(app.url, callback.smsDelivery({ messageId: 'posted' }))).status).toBe(204)
    await expect.poll(app.output).toContain('posted')

    if (command === 'dev') {
      const file = join(folder, 'app/receiver.js')
      writeFileSync(file, readFileSync(file, 'utf8').replace('console.log(', "console.log('edited', "))
      let nth = 0
      await expect
        .poll(
          async () => {
            nth += 1
            expect((await post(app.url, callback.smsDelivery({ messageId: `later-${nth}.` }))).status).toBe(204)
            await expect.poll(app.output).toContain(`later-${nth}.`)
            return app.output()
          },
          { timeout: 60_000, interval: 500 },
        )
        .toContain('edited')
      for (let one = 1; one <= nth; one += 1) expect(linesWith(app.output(), `later-${one}.`)).toBe(1)
    }
    expect([linesWith(app.output(), 'stored'), linesWith(app.output(), 'posted')]).toEqual([1, 1])
  },
)
