/** Who may see the inspector, and what its answers allow a browser to do. */
import http from 'node:http'
import express from 'express'
import { createReceiver, OptionsError } from 'messaging-webhooks'
import { inspector } from 'messaging-webhooks/inspector'
import { expect, onTestFinished, test } from 'vitest'
import { AUTH_KEY, listen, post, SIGNING_SECRET } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import type { Overview, Problem, Session } from '../../src/inspector/shapes.ts'

const credentials = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }

test('there is no inspector without `authorize`, nor of what is no receiver', () => {
  const receiver = createReceiver({ credentials, logger: false })
  // @ts-expect-error: it is required
  expect(() => inspector(receiver, {})).toThrow(OptionsError)
  // @ts-expect-error: so is its type
  expect(() => inspector(receiver, { authorize: true })).toThrow('authorize is true')
  expect(() => inspector({ ...receiver }, { authorize: () => 'read' })).toThrow('no receiver')
  expect(() => inspector(receiver, { authorize: () => 'read', path: 'inspector' })).toThrow('begins with a slash')
})

/** What plain JavaScript may answer, too. */
const REFUSING: readonly (readonly [name: string, answer: () => unknown, status: number])[] = [
  ['false', () => false, 403],
  ['nothing', () => undefined, 403],
  ['a list of no right', () => [], 403],
  ['true, which is no right', () => true, 403],
  ['a word that is no right', () => ['read', 'admin'], 403],
  ['a rejection', () => Promise.reject(new Error('password=hunter2')), 500],
  [
    'an error',
    () => {
      throw new Error('password=hunter2')
    },
    500,
  ],
]

test.each(REFUSING)('where `authorize` answers %s, nothing is shown', async (_, answer, status) => {
  const { get } = await inspecting({}, { authorize: answer as () => false })
  for (const path of ['', 'page/main.js', 'api/session', 'api/overview', 'nowhere']) {
    const { status: answered, body } = await get(path)
    expect(answered).toBe(status)
    expect(JSON.stringify(body)).not.toContain('hunter2')
  }
})

test('rights are a word, a list, or an object that names the person, at once or later', async () => {
  const rights: { now: 'read' | readonly ('write' | 'reveal')[] | { may: 'write'; who: string } } = { now: 'read' }
  const { get } = await inspecting({}, { authorize: () => Promise.resolve(rights.now) })
  const session = async () => as<Session>((await get('api/session')).body)
  expect(await session()).toMatchObject({
    may: { write: false, reveal: false },
    store: { name: 'memory', listsEvents: true, durable: false },
  })
  rights.now = ['write', 'reveal']
  expect((await session()).may).toEqual({ write: true, reveal: true })
  rights.now = { may: 'write', who: 'Ada' }
  expect(await session()).toMatchObject({ may: { write: true, reveal: false }, who: 'Ada' })
})

test('each answer, a refusal too, lets a browser run and fetch nothing else, and is kept nowhere', async () => {
  const { get } = await inspecting()
  for (const [path, may] of [
    ['', ''],
    ['api/session', ''],
    ['nowhere', ''],
    ['api/session', 'nobody'],
  ] as const) {
    const { headers } = (await get(path, may === '' ? {} : { 'x-may': may })).response
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
  }
})

test('unknown paths are 404, other methods 405 with those there are, and HEAD has no body', async () => {
  const { origin, get } = await inspecting()
  const missing = await get('api/nowhere')
  expect([missing.status, as<Problem>(missing.body).error.code]).toEqual([404, 'not_found'])
  for (const path of ['page/..%2f..%2findex.ts', 'page/%2e%2e/index.ts', 'page/shapes.ts', 'api/../../etc/passwd'])
    expect((await get(path)).status).toBe(404)
  const wrong = await fetch(`${origin}/look/api/overview`, { method: 'DELETE' })
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  const head = await fetch(`${origin}/look/api/overview`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('run from its sources there is no page, which it says', async () => {
  const { get } = await inspecting()
  const { status, body } = await get('')
  expect([status, as<Problem>(body).error.message]).toEqual([503, expect.stringContaining('npm run build')])
})

test('it works under any mount of Express, Connect and node:http, and by Fetch, and redirects to its slash relatively', async () => {
  const receiver = createReceiver({ credentials, logger: false })
  const options = { authorize: () => 'read' as const }
  const app = express()
  app.use('/deep/in/the/app', inspector(receiver, options))
  const router = express.Router()
  router.use('/inner', inspector(receiver, options))
  app.use('/outer', router)
  const server = http.createServer(app)
  const url = await listen(server)
  onTestFinished(async () => {
    server.close()
    await receiver.close()
  })
  const looks = inspector(receiver, { ...options, path: '/a/b' })
  const through = (path: string) => fetch(`${url}${path}`, { redirect: 'manual' })
  for (const [mount, ask] of [
    ['deep/in/the/app', through],
    ['outer/inner', through],
    ['a/b', (path: string) => looks.fetch(new Request(`http://proxy.example/${path}`))],
  ] as const) {
    const redirect = await ask(mount)
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, `./${mount.split('/').at(-1) ?? ''}/`])
    expect((await ask(`${mount}/`)).status).toBe(503)
    const session = await ask(`${mount}/api/session?x=1`)
    expect([session.status, as<Session>(await session.json()).may.write]).toEqual([200, false])
    expect((await ask(`${mount}/api/nothing`)).status).toBe(404)
  }
})

test('the overview counts what came, and where nobody has refused anything it has no such code', async () => {
  const { get, status } = await inspecting()
  const report = { messageId: 'm-1', project: 'Shop', status: 'delivered', channel: 'sms', timestamp: 1_760_000_000 }
  await post(status, report)
  await post(status, report)
  await fetch(status, { method: 'POST', body: '{}' })
  const body = as<Overview>((await get('api/overview')).body)
  expect(body.counts).toEqual({ taken: 2, duplicates: 1, late: 0, refused: 1 })
  expect(body.byType).toEqual({ 'message.delivered': 1 })
  expect(body.byChannel).toEqual({ sms: 1 })
  expect(body.refusedBy).toEqual({ signature_missing: 1 })
  expect(body.plot.buckets.at(-1)).toMatchObject({ new: 1, duplicate: 1, late: 0, refused: 1, failed: 0 })
  expect(body.trouble).toMatchObject([{ code: 'signature_missing', count: 1 }])
  expect(body.health).toMatchObject({ live: true, ready: true })
  expect(body.store).toEqual({ name: 'memory', state: 'up' })
})
