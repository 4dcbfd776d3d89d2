/** The control API over HTTP: its routes and access to them. */
import { networkInterfaces } from 'node:os'
import { createEmulator, CONTROL_ROUTES, OUTCOMES } from 'messaging-webhooks/emulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { TRIGGER_NAMES } from '../../src/emulator/payloads.ts'
import { request, writeRaw } from '../support/wire.ts'
import {
  API_KEY,
  AUTH_KEY,
  call,
  collecting,
  emulating,
  postJson,
  sendFrom,
  SHOP,
  SIGNING_SECRET,
  type Answered,
} from './emulating.ts'
import { titleWith } from '../support/skipping.ts'

const json = { 'content-type': 'application/json' }

const TOKEN = 'token-of-the-test'
const bearer = { authorization: `Bearer ${TOKEN}` }

async function controlled(token: string | undefined = TOKEN) {
  const { collected, callbackUrls } = await collecting()
  const emulating_ = await emulating({ callbackUrls }, { controlToken: token })
  const { url } = emulating_
  const get = (path: string) => call(url + path, { headers: bearer })
  const post = (path: string, body: object = {}) => postJson(url + path, body, bearer)
  return { ...emulating_, collected, callbackUrls, get, post }
}

describe('routes', () => {
  test('list themselves, the documented numbers and the triggers', async () => {
    const { get } = await controlled()
    const listed = CONTROL_ROUTES.map(({ method, path, what, needsToken }) => ({ method, path, what, needsToken }))
    expect(await get('/control')).toEqual({ status: 200, body: listed })
    expect(listed.length).toBeGreaterThan(12)
    expect((await get('/control/outcomes')).body).toMatchObject(OUTCOMES.map(({ number }) => ({ number })))
    expect((await get('/control/triggers')).body).toMatchObject(TRIGGER_NAMES.map((event) => ({ event })))
  })

  test('list sends and their outcomes, a page at a time', async () => {
    const { endpoint, get, post, emulator } = await controlled()
    await sendFrom(endpoint, { to: ['999100000000', '999200000000'], type: 'transactional' })
    expect(await post('/control/idle', { deadlineMs: 60_000 })).toEqual({ status: 200, body: { idle: true } })
    expect((await get('/control/report')).body).toEqual(emulator.report())
    expect((await get('/control/sends')).body).toMatchObject({ items: [{ httpStatus: 200 }], next: null })
    const first = (await get('/control/deliveries?limit=1')).body as { items: object[]; next: number }
    const second = (await get(`/control/deliveries?after=${first.next}&limit=1`)).body as typeof first
    expect([...first.items, ...second.items]).toEqual(emulator.deliveries())
    expect([first.next, second.next]).toEqual([1, null])
  })

  test('change a project', async () => {
    const { url, get, endpoint } = await controlled()
    const patch = { method: 'PATCH', headers: { ...json, ...bearer }, body: JSON.stringify({ balance: 0 }) }
    expect((await call(`${url}/control/projects/My%20Shop`, patch)).body).toMatchObject({ name: SHOP, balance: 0 })
    expect((await get('/control/projects')).body).toMatchObject([{ name: SHOP, balance: 0 }])
    expect((await sendFrom(endpoint, { to: '999100000000' })).body).toMatchObject({
      recipients: [{ statusCode: '22' }],
    })
  })

  test('show keys only on request', async () => {
    const { get } = await controlled()
    const keys = { apiKey: API_KEY, authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
    expect((await get('/control/projects/My%20Shop/keys')).body).toEqual(keys)
    for (const path of ['', '/projects', '/report', '/sends', '/deliveries'])
      for (const key of Object.values(keys))
        expect(JSON.stringify((await get(`/control${path}`)).body)).not.toContain(key)
  })

  test('rotate the pair and regenerate the API key', async () => {
    const { post, emulator, endpoint } = await controlled()
    const rotated = await post('/control/projects/My%20Shop/rotate-keys', { authKey: 'mine' })
    expect(rotated.body).toEqual(emulator.keys())
    expect(rotated.body).toMatchObject({ authKey: 'mine', apiKey: API_KEY })
    expect(emulator.keys().signingSecret).not.toBe(SIGNING_SECRET)
    const { body } = await post('/control/projects/My%20Shop/regenerate-api-key')
    expect(await sendFrom(endpoint, { to: '999100000000' })).toEqual({
      status: 400,
      body: { messageData: { message: 'Error. Unknown project.' } },
    })
    expect((await sendFrom(endpoint, { to: '999100000000', ...(body as { apiKey: string }) })).status).toBe(200)
    expect(emulator.regenerateApiKey('of my own')).toMatchObject({ apiKey: 'of my own' })
  })

  test('trigger an event, and send a custom callback', async () => {
    const { post, collected } = await controlled()
    expect(await post('/control/trigger', { event: 'payment', fields: { amount: 7 } })).toMatchObject({
      status: 200,
      body: [{ kind: 'payment', status: 204, intact: true }],
    })
    expect((await post('/control/callback', { kind: 'status', payload: { a: 1 } })).status).toBe(200)
    expect(collected.map(({ body }) => body)).toMatchObject([{ amount: 7 }, { a: 1 }])
  })
})

describe('an invalid request', () => {
  test.each([
    ['GET', '/control/projects/a/b/c', undefined, 404, 'route_unknown'],
    ['DELETE', '/control/report', undefined, 405, 'method_not_allowed'],
    ['POST', '/control/trigger', '{', 400, 'invalid_request'],
    ['POST', '/control/trigger', '{"event":"nothing"}', 400, 'invalid_request'],
    ['POST', '/control/trigger', '{"event":"payment","more":1}', 400, 'invalid_request'],
    ['POST', '/control/trigger', '{"event":"payment","project":"No Shop"}', 404, 'emulator_project_unknown'],
    ['GET', '/control/projects/%E0/keys', undefined, 400, 'invalid_request'],
    ['PATCH', '/control/projects/My%20Shop', '{"callbackUrls":{"status":"ftp://x"}}', 400, 'options_invalid'],
    ['GET', '/control/sends?limit=0', undefined, 400, 'invalid_request'],
  ])('%s %s %s is answered %i, %s', async (method, path, body, status, code) => {
    const { url } = await controlled()
    const answer = await call(url + path, {
      method,
      headers: { ...json, ...bearer },
      ...(body === undefined ? {} : { body }),
    })
    expect(answer).toMatchObject({ status, body: { error: { code, message: expect.any(String) as string } } })
  })

  test('includes a form body, as a page in a browser can post it', async () => {
    const { url, emulator } = await controlled()
    const body = '{"event":"payment"}'
    const headers = { 'content-type': 'text/plain', ...bearer }
    expect((await call(`${url}/control/trigger`, { method: 'POST', headers, body })).status).toBe(415)
    expect(emulator.deliveries()).toEqual([])
  })
})

/** By `request`, because `fetch` does not let the caller choose `Host`. */
async function get(url: string, headers: Record<string, string>): Promise<Answered> {
  const { status, text } = await request(`${url}/control/projects`, { method: 'GET', headers })
  return { status, body: JSON.parse(text) }
}

describe('access', () => {
  const STRANGE: readonly Record<string, string>[] = [
    { host: 'evil.example' },
    { host: '127.0.0.1.evil.example' },
    { origin: 'https://evil.example' },
    { forwarded: 'for=192.0.2.1' },
  ]

  test.each(STRANGE)('on loopback with %j needs the token', async (headers) => {
    const { url: without } = await emulating()
    expect(await get(without, headers)).toMatchObject({ status: 403, body: { error: { code: 'control_refused' } } })
    const { url } = await controlled()
    expect((await get(url, headers)).status).toBe(401)
    expect((await get(url, { ...headers, authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await get(url, { ...headers, authorization: 'Bearer token-of-the-test' })).status).toBe(200)
  })

  test.each([
    { host: 'localhost:1' },
    { host: '[::1]:80' },
    { host: '127.0.0.2' },
    { origin: 'http://localhost:3000' },
  ])('on loopback with %j needs no token', async (headers) => {
    for (const { url } of [await emulating(), await controlled()]) expect((await get(url, headers)).status).toBe(200)
  })

  // A local proxy that adds no header is not distinguishable from this machine.
  test('needs the token even on loopback, to change anything and to read keys', async () => {
    const [without, withToken] = [await emulating(), await controlled()]
    const guarded = CONTROL_ROUTES.filter(({ needsToken }) => needsToken)
    expect(guarded.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /control/projects/:project/keys',
      'PATCH /control/projects/:project',
      'POST /control/projects/:project/rotate-keys',
      'POST /control/projects/:project/regenerate-api-key',
      'POST /control/trigger',
      'POST /control/callback',
    ])
    for (const { method, path } of guarded) {
      const ask = (url: string, headers: Record<string, string> = {}) => {
        const body = method === 'GET' ? {} : { body: '{}' }
        return call(url + path.replace(':project', 'My%20Shop'), { method, headers: { ...json, ...headers }, ...body })
      }
      const refused = { body: { error: { code: 'control_refused' } } }
      expect(await ask(without.url), path).toMatchObject({ status: 403, ...refused })
      for (const headers of [{}, { authorization: 'Bearer wrong' }])
        expect(await ask(withToken.url, headers), path).toMatchObject({ status: 401, ...refused })
      expect((await ask(withToken.url, bearer)).body, path).not.toMatchObject(refused.body)
    }
    expect(without.emulator.keys()).toEqual({ apiKey: API_KEY, authKey: AUTH_KEY, signingSecret: SIGNING_SECRET })
    expect((await postJson(`${without.url}/control/idle`, {})).status).toBe(200)
  })

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address !== undefined && !address.internal && address.family === 'IPv4')

  // The address is this machine's own: nothing leaves it.
  test.skipIf(outside === undefined)(
    titleWith(
      outside === undefined ? 'no network but loopback' : undefined,
      'by another address of this machine needs the token',
    ),
    async () => {
      const emulator = createEmulator({ controlToken: 'token-of-the-test' })
      onTestFinished(() => emulator.close())
      const { port } = await emulator.listen(0, '0.0.0.0')
      const url = `http://${outside?.address ?? ''}:${port}`
      expect((await get(url, { host: 'localhost' })).status).toBe(401)
      expect((await get(url, { authorization: 'Bearer token-of-the-test' })).status).toBe(200)
      expect((await get(`http://127.0.0.1:${port}`, {})).status).toBe(200)
      expect((await call(`${url}/api/v1/messaging`)).status).toBe(401)
    },
  )
})

test('answers a request target that is not a URL, and keeps the server running', async () => {
  const { get, url } = await controlled()
  for (const target of ['//', 'http://', '/\\', '//['])
    expect(await writeRaw(url, `GET ${target} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`), target).toBe(404)
  expect(await get('/control')).toMatchObject({ status: 200 })
})
