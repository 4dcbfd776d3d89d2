/** A route handler of Next.js: its production build, and its own server. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY } from '../../support/receiving.ts'
import { keyedText, reportText, request } from '../../support/wire.ts'
import { readFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { appFolder, mustBuild, removeFolder, startApp } from './app-process.ts'
import { adapterCases, type AdapterOptions } from './cases.ts'

/** As in the guide, with the number of handlers on the global object for the test to read. */
const RECEIVER = `
import { createReceiver } from 'messaging-webhooks'
const shared = globalThis
export const receiver = (shared.receiver ??= createReceiver({ credentials: { authKey: process.env.AUTH_KEY }, logger: false }))
for (const detach of shared.detach ?? []) detach()
shared.detach = [receiver.on('message.delivered', () => (shared.handled = [...(shared.handled ?? []), 'EDITION']))]
`
const ROUTE = `
import { receiverHandler } from 'messaging-webhooks/fetch'
import { receiver } from '../receiver.mjs'
export const POST = receiverHandler(receiver, 'status')
`
const API_ROUTE = `
import { receiver } from '../../app/receiver.mjs'
export const config = { api: { bodyParser: false, externalResolver: true } }
export default receiver.middleware('status')
`
const OBSERVED = `
import { receiver } from '../receiver.mjs'
export const dynamic = 'force-dynamic'
export async function GET() {
  await receiver.drain()
  return Response.json(globalThis.handled ?? [])
}
`

/** Copies the guide's app into this folder of a Next.js app. */
function writeGuide(folder: string): void {
  for (const name of ['status', 'observed']) mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'receiver.mjs'), RECEIVER)
  writeFileSync(join(folder, 'status/route.js'), ROUTE)
  writeFileSync(join(folder, 'observed/route.js'), OBSERVED)
}

describe('Next.js', () => {
  const folder = appFolder('next', ['next', 'react', 'react-dom'])
  const next = join(folder, 'node_modules/next/dist/bin/next')
  beforeAll(() => {
    // The guide's app reads its key from the environment: a build has no key, and must not need one.
    writeGuide(join(folder, 'app/guide'))
    return mustBuild(process.execPath, [next, 'build'], folder, { AUTH_KEY: undefined })
  }, 240_000)
  afterAll(() => removeFolder(folder))

  const app = {
    command: process.execPath,
    args: [next, 'start', '--port', '0', '--hostname', '127.0.0.1'],
    cwd: folder,
    says: /Local: +http:\/\/127\.0\.0\.1:(\d+)[^]*Ready/,
  }
  const starting = (path: string) => (options: AdapterOptions) => startApp(app, options, path)

  adapterCases('a route handler', {
    start: starting('/status'),
    parser: { start: starting('/behind-parser'), code: 'body_already_read', says: 'request.clone()' },
  })
})

const TIMEOUT = { timeout: 120_000 }

/** The guide's app without the built parts: development compiles on demand. */
async function startDevelopment() {
  const folder = appFolder('next', ['next', 'react', 'react-dom'])
  onTestFinished(() => removeFolder(folder))
  rmSync(join(folder, 'app/behind-parser'), { recursive: true })
  writeGuide(join(folder, 'app'))
  mkdirSync(join(folder, 'pages/api'), { recursive: true })
  writeFileSync(join(folder, 'pages/api/status.js'), API_ROUTE)
  const app = await startApp(
    {
      command: process.execPath,
      args: [join(folder, 'node_modules/next/dist/bin/next'), 'dev', '--port', '0', '--hostname', '127.0.0.1'],
      cwd: folder,
      env: { AUTH_KEY, NODE_ENV: 'development' },
      says: /Local: +http:\/\/127\.0\.0\.1:(\d+)[^]*Ready/,
    },
    undefined,
  )
  onTestFinished(async () => {
    await app.close()
  })
  return { app, folder }
}

test('the pages router does not warn of an API route that answers later', TIMEOUT, async () => {
  const { app } = await startDevelopment()
  const url = new URL('/api/status', app.url).href
  expect(await request(url, { body: keyedText() })).toMatchObject({ status: 204 })
  expect(await request(url, { body: reportText({ authKey: 'another key' }) })).toMatchObject({ status: 401 })
  // The line of a request, which Next.js prints after its warnings.
  await expect.poll(app.output, { timeout: 30_000 }).toMatch(/POST \/api\/status 401/)
  expect(app.output()).not.toContain('API resolved')
})

test('in development, an edit replaces the handlers without duplicating them', TIMEOUT, async () => {
  const { app, folder } = await startDevelopment()
  const observed = new URL('/observed', app.url).href
  const handled = async (): Promise<unknown> => JSON.parse((await request(observed, { method: 'GET' })).text)
  expect(await request(app.url, { body: keyedText({ messageId: 'first' }) })).toMatchObject({ status: 204 })
  expect(await handled()).toEqual(['EDITION'])
  const file = join(folder, 'app/receiver.mjs')
  writeFileSync(file, readFileSync(file, 'utf8').replace('EDITION', 'edited'))
  let nth = 0
  await expect
    .poll(
      async () => {
        expect(await request(app.url, { body: keyedText({ messageId: `later-${(nth += 1)}` }) })).toMatchObject({
          status: 204,
        })
        const all = await handled()
        expect(all).toHaveLength(nth + 1)
        return all
      },
      { timeout: 60_000, interval: 500 },
    )
    .toContain('edited')
})
