/** Apps that Node runs with flags that also concern threads: the store opens, and a callback is dispatched. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../support/own-folder.ts'
import { runProgram, startProgram } from '../../support/program.ts'

const DIST = new URL('../../../dist/', import.meta.url)

/** An app that delivers one callback to itself. */
function appIn(folder: string): string {
  const path = join(folder, 'app.mjs')
  const module = (name: string): string => JSON.stringify(new URL(name, DIST).href)
  writeFileSync(
    path,
    `import { createReceiver } from ${module('index.js')}
     import { sqliteStore } from ${module('stores/sqlite/store.js')}
     import { callback, deliver } from ${module('testing/index.js')}
     const credentials = { authKey: 'auth-key-of-the-test', signingSecret: 'signing-secret-of-the-test' }
     const receiver = createReceiver({ credentials, store: sqliteStore(${JSON.stringify(join(folder, 'inbox.db'))}), logger: false })
     receiver.on('message.delivered', ({ messageId }) => console.log('handled', messageId))
     await receiver.start()
     await deliver(receiver.middleware('status'), callback.smsDelivery({ messageId: 'm' }), credentials)
     setInterval(() => {}, 1_000)`,
  )
  return path
}

/** A preload that listens: a second one in the thread would fail. */
function preloadIn(folder: string): string {
  const path = join(folder, 'preload.mjs')
  writeFileSync(
    path,
    `import { isMainThread } from 'node:worker_threads'
     if (!isMainThread) throw new Error('The preload runs in the thread.')`,
  )
  return path
}

/** Stands for the loader of Yarn's Plug'n'Play, without which the thread would find no package. */
function pnpIn(folder: string): string {
  const path = join(folder, '.pnp.cjs')
  writeFileSync(path, "console.log('loader in', require('node:worker_threads').isMainThread ? 'main' : 'thread')")
  return path
}

interface Case {
  readonly is: string
  readonly flags: (folder: string) => readonly string[]
  readonly inVariable?: boolean
  readonly prints?: string
}

const CASES: readonly Case[] = [
  { is: '--watch', flags: () => ['--watch'] },
  { is: '--import', flags: (folder) => ['--import', preloadIn(folder)] },
  { is: '--import in NODE_OPTIONS', flags: (folder) => ['--import', preloadIn(folder)], inVariable: true },
  {
    is: "the loader of Yarn's Plug'n'Play, and another preload",
    flags: (folder) => ['--require', pnpIn(folder), '--import', preloadIn(folder)],
    inVariable: true,
    prints: 'loader in thread',
  },
]

test.each(CASES)('node with $is', { timeout: 60_000 }, async ({ flags: flagsIn, inVariable = false, prints = '' }) => {
  const folder = ownFolder()
  const flags = flagsIn(folder)
  const app = appIn(folder)
  const { child } = inVariable
    ? startProgram(process.execPath, [app], { env: { NODE_OPTIONS: flags.join(' ') } })
    : startProgram(process.execPath, [...flags, app])
  onTestFinished(() => void child.kill('SIGTERM'))
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (printed += text))
  await expect.poll(() => printed, { timeout: 40_000 }).toContain('handled m')
  expect(printed).not.toContain('Error')
  expect(printed).toContain(prints)
})

test('node with --permission says what it lacks, and fails for good', { timeout: 60_000 }, async () => {
  const folder = ownFolder()
  const flags = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*']
  const app = appIn(folder)
  expect((await runProgram(process.execPath, [...flags, app])).stderr).toContain('Create the folder before the start.')
  mkdirSync(join(folder, 'inbox.db-spool'), { recursive: true })
  const { code, stderr } = await runProgram(process.execPath, [...flags, app])
  expect(code).toBe(1)
  expect(stderr).toContain("code: 'store_unsupported'")
  expect(stderr).toContain('pass --allow-worker')
})
