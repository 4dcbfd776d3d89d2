/** Access to the inspector, the security headers of its answers, and the built page. */
import http from 'node:http'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import express from 'express'
import { createReceiver, memoryStore, OptionsError, type Store } from 'messaging-webhooks'
import { inspector } from 'messaging-webhooks/inspector'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { AUTH_KEY, listen, post, SIGNING_SECRET } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import type { Overview, Problem, Session } from '../../src/inspector/routes.ts'

const credentials = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }

test('requires `authorize` and a receiver', () => {
  const receiver = createReceiver({ credentials, logger: false })
  // @ts-expect-error: it is required
  expect(() => inspector(receiver, {})).toThrow(OptionsError)
  // @ts-expect-error: so is its type
  expect(() => inspector(receiver, { authorize: true })).toThrow('authorize is true')
  expect(() => inspector({ ...receiver }, { authorize: () => 'read' })).toThrow('not a receiver')
  expect(() => inspector(receiver, { authorize: () => 'read', path: 'inspector' })).toThrow('begins with a slash')
})

/** Includes answers that only plain JavaScript can give. */
const REFUSING: readonly (readonly [name: string, answer: () => unknown, status: number])[] = [
  ['false', () => false, 403],
  ['nothing', () => undefined, 403],
  ['a list of no right', () => [], 403],
  ['true, which is not a right', () => true, 403],
  ['an unknown right', () => ['read', 'admin'], 403],
  ['a rejection', () => Promise.reject(new Error('password=hunter2')), 500],
  [
    'an error',
    () => {
      throw new Error('password=hunter2')
    },
    500,
  ],
]

test.each(REFUSING)('shows nothing if `authorize` answers %s', async (_, answer, status) => {
  const { get } = await inspecting({}, { authorize: answer as () => false })
  for (const path of ['', 'page/main.js', 'api/session', 'api/overview', 'nowhere']) {
    const { status: answered, body } = await get(path)
    expect(answered).toBe(status)
    expect(JSON.stringify(body)).not.toContain('hunter2')
  }
})

test('rights are a word, a list, or an object that names the person, sync or async', async () => {
  const rights: { now: 'read' | readonly ('write' | 'reveal')[] | { may: 'write'; who: string } } = { now: 'read' }
  const { get } = await inspecting({}, { authorize: () => Promise.resolve(rights.now) })
  const session = async () => as<Session>((await get('api/session')).body)
  expect(await session()).toMatchObject({
    may: { write: false, reveal: false },
    store: { name: 'memory', durable: false },
  })
  rights.now = ['write', 'reveal']
  expect((await session()).may).toEqual({ write: true, reveal: true })
  rights.now = { may: 'write', who: 'Ada' }
  expect(await session()).toMatchObject({ may: { write: true, reveal: false }, who: 'Ada' })
})

test('every answer, including refusals, forbids other scripts and requests, and caching', async () => {
  const { get } = await inspecting()
  for (const [path, may] of [
    ['', ''],
    ['api/session', ''],
    ['nowhere', ''],
    ['api/session', 'nothing'],
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

test('unknown paths get 404, other methods 405 with the allowed ones, and HEAD has no body', async () => {
  const { origin, get } = await inspecting()
  const missing = await get('api/nowhere')
  expect([missing.status, as<Problem>(missing.body).error.code]).toEqual([404, 'not_found'])
  for (const path of ['page/..%2f..%2findex.ts', 'page/%2e%2e/index.ts', 'page/main.ts', 'api/../../etc/passwd'])
    expect((await get(path)).status).toBe(404)
  const wrong = await fetch(`${origin}/look/api/overview`, { method: 'DELETE' })
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  const head = await fetch(`${origin}/look/api/overview`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('says that it has no page when run from its sources', async () => {
  const { get } = await inspecting()
  const { status, body } = await get('')
  expect([status, as<Problem>(body).error.message]).toEqual([503, expect.stringContaining('npm run build')])
})

test('works under any mount of Express, Connect and node:http, and by Fetch, and redirects to its slash relatively', async () => {
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

test('the overview starts with what needs attention: each cause with its count, since when, and its description', async () => {
  const { get, status, payment, receiver } = await inspecting({
    credentials: () => ({ authKey: AUTH_KEY, signingSecret }),
    proof: 'signature',
    retry: { attempts: 1 },
  })
  let signingSecret = SIGNING_SECRET
  receiver.on('payment', () => Promise.reject(new TypeError('no page for this customer')))
  for (const id of ['p-1', 'p-2']) await post(payment, { id })
  signingSecret = 'a-secret-that-was-rotated'
  await post(status, { messageId: 'm-1', project: 'Shop', status: 'delivered' })
  await expect.poll(async () => (await receiver.stats()).deadLetters).toBe(2)
  const { attention } = as<Overview>((await get('api/overview?range=24h')).body)
  const since = expect.stringMatching(/^2\d{3}-/) as string
  expect(attention).toMatchObject([
    { what: 'refused', title: '1 refused: wrong secret?', group: 'looksLikeOurs', since },
    { what: 'dead-letters', title: '2 dead letters', text: 'TypeError: no page for this customer', since },
  ])
})

test('a plot covers the requested period, and includes handler durations', async () => {
  const clock = fakeClock(Date.now())
  const { get, payment, receiver } = await inspecting({ clock })
  receiver.on('payment', () => {})
  await post(payment, { id: 'p-1' })
  await receiver.drain()
  const plot = async (range: string) => as<Overview>((await get(`api/overview?range=${range}`)).body).plot
  for (let bucket = 0; bucket < 100; bucket += 1) await clock.advance(20_000)
  expect(await plot('15m')).toMatchObject({ range: '15m', bucketSeconds: 20, buckets: { length: 45 } })
  expect((await plot('1h')).buckets).toHaveLength(101)
  const day = await plot('24h')
  expect(day).toMatchObject({ bucketSeconds: 480, buckets: { length: 5 }, handlerP95Ms: 0 })
  expect(day.buckets[0]).toMatchObject({ new: 1, attempts: 1, failed: 0 })
  expect((await get('api/overview?range=1y')).status).toBe(400)
})

test('does not redirect before `authorize` allows the request', async () => {
  const { look } = await inspecting()
  const ask = (may: string) => look.fetch(new Request('http://host.example/look', { headers: { 'x-may': may } }))
  expect((await ask('nothing')).status).toBe(403)
  expect((await ask('read')).status).toBe(302)
})

test('answers a rejection of a custom store as a store failure', async () => {
  const { capabilities, open } = memoryStore()
  const store: Store = {
    capabilities,
    open: async (host) => ({ ...(await open(host)), scan: () => Promise.reject(new RangeError('row 4711 is odd')) }),
  }
  const lines: unknown[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void lines.push(fields) }
  const { get } = await inspecting({ store, logger })
  const { status, body } = await get('api/events')
  expect([status, as<Problem>(body).error.code]).toEqual([503, 'store_failed'])
  expect(as<Problem>(body).error.message).toContain('RangeError')
  expect(as<Problem>(body).error.message).not.toContain('4711')
  expect(lines).toMatchObject([{ code: 'inspector_failed', cause: expect.stringContaining('row 4711') as string }])
})

const FOLDER = fileURLToPath(new URL('../../dist/inspector/page/', import.meta.url))
const MAX_BYTES = 70 * 1_024

const files = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(FOLDER + name, 'utf8')]))

test('is at most 70 KiB before compression', () => {
  const sizes = [...files.values()].map((text) => Buffer.byteLength(text))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_BYTES)
})

test('references only its own files by relative paths, has nothing inline, and evaluates no strings', () => {
  const index = files.get('index.html') ?? ''
  const named = [...index.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address)
  expect(named).toContain('page/main.js')
  for (const address of named) expect([...files.keys()].map((name) => `page/${name}`)).toContain(address)
  expect(index).not.toMatch(/<style|style=|\son\w+=|<script[^>]*>[^<]/)
  const script = files.get('main.js') ?? ''
  expect(script).not.toMatch(/\bimport[\s("'`{]|\beval\(|new Function/)
})
