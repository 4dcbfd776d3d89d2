/** Faults of the URL, the credentials, the clock and the app: the doctor names each planted one. */
import { once } from 'node:events'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler } from 'express'
import { memoryStore, type Store } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeCertificate } from '../../support/certificate.ts'
import { freePort } from '../../support/free-port.ts'
import { listen, post, receiving } from '../../support/receiving.ts'
import { titleWith } from '../../support/skipping.ts'
import { askDoctor, faultsOf, PAIR, serving, textOf } from './asking.ts'

const NEW = { authKey: 'auth-key-of-the-new-pair', signingSecret: 'signing-secret-of-the-new-pair' }

async function app(options: Parameters<typeof receiving>[0] = {}) {
  const { receiver, server, errors } = await receiving(options)
  receiver.onAny(() => {})
  server.keepAliveTimeout = 75_000
  return { receiver, server, errors, url: await serving(receiver.middleware('status')) }
}

describe('at the URL', () => {
  test.each([
    ['nothing listens', async () => `http://127.0.0.1:${await freePort()}/`, ['nothing_listens']],
    [
      'the name has no address',
      () => Promise.resolve('http://no-such-host.invalid/status'),
      ['host_unknown', 'https_missing'],
    ],
    ['a server listens and never answers', () => serving(() => {}), ['no_answer']],
    ['a server listens and hangs up', () => serving((request) => request.socket.destroy()), ['no_answer']],
  ])('%s', async (_, at, codes) => {
    const timeoutMs = codes.includes('no_answer') ? 50 : 10_000
    expect(faultsOf(await askDoctor(await at(), PAIR, { timeoutMs }))).toEqual(codes)
  })

  test('a redirect to https is “Enforce HTTPS”, another is a redirect, and neither is followed', async () => {
    const asked: string[] = []
    const elsewhere = await serving((request, response) => {
      asked.push(request.url ?? '')
      response.end()
    })
    const secure = await serving((_, response) => {
      response.writeHead(308, { location: 'https://127.0.0.1/status?token=secret-of-the-query' }).end()
    })
    const slash = await serving(
      (_, response) => void response.writeHead(301, { location: `${elsewhere}status/` }).end(),
    )
    const toHttps = await askDoctor(secure)
    expect(faultsOf(toHttps)).toEqual(['enforce_https'])
    expect(textOf(toHttps, 'enforce_https')).toContain('308 and points to https://127.0.0.1/status.')
    expect(JSON.stringify(toHttps)).not.toContain('secret-of-the-query')
    expect(faultsOf(await askDoctor(slash))).toEqual(['redirect'])
    expect(asked).toEqual([])
  })

  test.each([
    [204, '', 'other_handler'],
    [200, 'OK', 'other_handler'],
    [401, 'wrong signature', 'access_denied'],
    [403, 'forbidden', 'access_denied'],
    [422, 'what is this?', 'other_handler'],
    [404, 'no such page', 'path_unknown'],
    [500, 'oops', 'server_failed'],
    [502, 'Bad Gateway', 'proxy_failed'],
    [503, 'Service Unavailable', 'proxy_failed'],
    [504, 'Gateway Timeout', 'proxy_failed'],
  ] as const)('another server that answers %i %s: %s', async (status, text, code) => {
    const url = await serving((_, response) => void response.writeHead(status).end(text))
    const diagnosis = await askDoctor(url)
    expect(faultsOf(diagnosis)).toEqual([code])
    expect(textOf(diagnosis, code)).toContain(`It answered ${status}`)
    expect(textOf(diagnosis, code)).toContain(text)
  })

  test('middleware before the receiver that throws', async () => {
    const { receiver } = await app()
    const broken = express()
      .use(() => {
        throw new Error('the session store is unavailable')
      })
      .use('/status', receiver.middleware('status'))
      .use(((_error, _request, response, _next) => void response.status(500).send('broken')) as ErrorRequestHandler)
    expect(faultsOf(await askDoctor(`${await serving(broken)}status`))).toEqual(['server_failed'])
  })

  test('a path that is not mounted, and one for GET only', async () => {
    const url = await serving(express().get('/status', (_, response) => void response.send('hello')))
    const diagnosis = await askDoctor(`${url}status`)
    expect(faultsOf(diagnosis)).toEqual(['path_unknown'])
    expect(textOf(diagnosis, 'path_unknown')).toContain('It answered 404')
    const strict = await serving((_, response) => void response.writeHead(405, { allow: 'GET' }).end())
    expect(faultsOf(await askDoctor(strict))).toEqual(['method_refused'])
  })

  test('does not show an echo of the probe', async () => {
    const url = await serving(
      express().use(express.text({ type: () => true }), (request, response) => {
        response.status(422).send(`got ${String(request.body)}`)
      }),
    )
    const shown = JSON.stringify(await askDoctor(url))
    expect(shown).toContain('quotes the probe and is not shown')
    for (const secret of Object.values(PAIR)) expect(shown).not.toContain(secret)
  })

  test('an untrusted certificate, and a server without TLS', async () => {
    const plain = net.createServer((socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    plain.listen(0, '127.0.0.1')
    await once(plain, 'listening')
    onTestFinished(() => void plain.close())
    const { port } = plain.address() as AddressInfo
    expect(faultsOf(await askDoctor(`https://127.0.0.1:${port}/`))).toEqual(['tls_failed'])
  })

  const certificate = makeCertificate()
  test.skipIf(certificate === undefined)(
    titleWith(certificate === undefined ? 'there is no openssl' : undefined, 'a self-signed certificate'),
    async () => {
      const { receiver } = await app()
      const server = https.createServer({ ...certificate }, receiver.middleware('status'))
      onTestFinished(() => void server.close())
      const url = (await listen(server)).replace('http:', 'https:')
      const diagnosis = await askDoctor(url)
      expect(faultsOf(diagnosis)).toEqual(['tls_untrusted'])
      expect(textOf(diagnosis, 'tls_untrusted')).toContain('It is self-signed. (DEPTH_ZERO_SELF_SIGNED_CERT)')
      const inPlain = await askDoctor(url.replace('https:', 'http:'))
      expect(faultsOf(inPlain)).toEqual(['no_answer'])
      expect(textOf(inPlain, 'no_answer')).toContain('If the port serves TLS')
    },
  )

  test('another kind of callback', async () => {
    const { url } = await app()
    const diagnosis = await askDoctor(url, PAIR, { kind: 'received' })
    expect(faultsOf(diagnosis)).toEqual(['kind_differs'])
    expect(textOf(diagnosis, 'kind_differs')).toContain('for `status`; `received` was requested')
  })

  test('idle connections that are closed too soon', async () => {
    const { receiver, server, url } = await receiving({}, { kind: 'status' })
    receiver.onAny(() => {})
    server.keepAliveTimeout = 5_000
    for (const diagnosis of [await askDoctor(url), await receiver.doctor({ url })])
      expect(textOf(diagnosis, 'keep_alive_short')).toContain('`server.keepAliveTimeout` is 5000 ms')
    expect(faultsOf(await askDoctor(url, PAIR, { keepAliveMs: 20 }))).toEqual([])
    server.keepAliveTimeout = 1
    server.keepAliveTimeoutBuffer = 1
    expect(faultsOf(await askDoctor(url, PAIR, { keepAliveMs: 1_500 }))).toEqual(['keep_alive_short'])
  })

  test('reads the keep-alive from the answer if the app does not know it', async () => {
    const { receiver } = await app()
    const dispatched = (headers: Record<string, string>) =>
      serving((request, response) => {
        void receiver
          .receive({ kind: 'status', method: 'POST', headers: request.headersDistinct, body: request })
          .then((answer) => response.writeHead(answer.status, { ...answer.headers, ...headers }).end(answer.body))
      })
    const codesOf = async (url: string) => (await askDoctor(url)).findings.map(({ code }) => code)
    expect(await codesOf(await dispatched({}))).toContain('keep_alive_long')
    expect(await codesOf(await dispatched({ 'keep-alive': 'timeout=5' }))).toContain('keep_alive_short')
    expect(await codesOf(await dispatched({ connection: 'close' }))).toContain('keep_alive_unknown')
    expect((await askDoctor(await dispatched({ connection: 'close' }))).ok).toBe(true)
  })

  test('processes that answer differently', async () => {
    const one = await app()
    const other = await app({ credentials: NEW })
    let turn = 0
    const [first, second] = [one.receiver.middleware('status'), other.receiver.middleware('status')]
    const url = await serving((request, response) => ((turn += 1) % 2 === 1 ? first : second)(request, response))
    expect(faultsOf(await askDoctor(url))).toContain('uneven')
  })

  test('a failing credentials function', async () => {
    const { url } = await app({ credentials: () => Promise.reject(new Error('unavailable')), quarantine: false })
    expect(faultsOf(await askDoctor(url))).toEqual(['unavailable'])
  })
})

describe('with the pair and the clock', () => {
  test('a wrong pair', async () => {
    const { url } = await app()
    expect(faultsOf(await askDoctor(url, NEW))).toEqual(['pair_wrong'])
  })

  test('the app has only the old pair', async () => {
    const { url } = await app({ credentials: PAIR })
    expect(faultsOf(await askDoctor(url, NEW, { oldPair: PAIR }))).toEqual(['pair_old'])
    const both = [NEW, { ...PAIR, notAfter: Date.now() + 3_600_000 }]
    const { receiver } = await app({ credentials: both })
    expect(faultsOf(await receiver.doctor({ url }))).toContain('pair_old')
  })

  test('the pair is about to expire', async () => {
    const notAfter = new Date(Date.now() + 3_600_000)
    const { url } = await app({ credentials: [NEW, { ...PAIR, notAfter }] })
    const diagnosis = await askDoctor(url)
    expect(faultsOf(diagnosis)).toEqual(['pair_ends'])
    expect(textOf(diagnosis, 'pair_ends')).toContain(notAfter.toISOString())
    expect(faultsOf(await askDoctor(url, NEW))).toEqual([])
  })

  test('a valid Auth Key with an outdated secret', async () => {
    const { authKey, signingSecret } = PAIR
    const live = { authKey, signingSecret: NEW.signingSecret }
    const { url } = await app({ credentials: [live, { authKey, signingSecret, notAfter: Date.now() - 1_000 }] })
    expect(faultsOf(await askDoctor(url))).toEqual(['pair_half'])
  })

  test('a wrong signing secret with the right Auth Key, which proves callbacks', async () => {
    const { receiver, url, errors } = await app({ credentials: { ...PAIR, signingSecret: NEW.signingSecret } })
    const events: string[] = []
    receiver.onAny(({ type }) => void events.push(type))
    expect((await post(url, callback.smsDelivery())).status).toBe(204)
    await receiver.drain()
    const before = [events.length, errors.length, receiver.quarantine.size]
    const diagnosis = await askDoctor(url)
    expect(faultsOf(diagnosis)).toEqual(['pair_half'])
    expect(textOf(diagnosis, 'pair_half')).toContain('The Auth Key matches; the signing secret does not.')
    await receiver.drain()
    expect([events.length, errors.length, receiver.quarantine.size]).toEqual(before)
  })

  test('a wrong pair causes one log line a minute in the app, and uses no quarantine capacity', async () => {
    const lines: string[] = []
    const say = (fields: object): void => void lines.push('code' in fields ? String(fields.code) : '')
    const logger = { debug: say, info: say, warn: say, error: say }
    const { receiver, url } = await app({ logger })
    for (let time = 0; time < 3; time += 1) expect(faultsOf(await askDoctor(url, NEW))).toEqual(['pair_wrong'])
    expect(lines).toEqual(['signature_mismatch'])
    expect(await receiver.stats()).toMatchObject({ accepted: 0 })
    expect(receiver.quarantine.counts()).toMatchObject({ provedButStale: 0, unverified: 0, looksLikeOurs: 0 })
    lines.length = 0
    const forged = callback.smsDelivery({ authKey: NEW.authKey })
    expect((await fetch(url, { method: 'POST', body: JSON.stringify(forged) })).status).toBe(401)
    expect(lines).toEqual(['auth_key_mismatch'])
    expect(receiver.quarantine.counts()).toMatchObject({ looksLikeOurs: 1 })
    receiver.quarantine.clear()
    expect(faultsOf(await askDoctor(url, NEW))).toEqual(['pair_wrong'])
    lines.length = 0
    await receiver.close()
    expect(lines).not.toContain('quarantine_lost')
  })

  test('detects a clock that is off from callbacks alone', async () => {
    const { receiver, url } = await app({ clock: () => Date.now() + 400_000 })
    await askDoctor(url)
    expect(receiver.quarantine.counts()).toMatchObject({ provedButStale: 0 })
    expect(await receiver.metrics()).not.toMatch(/^messaging_webhooks_clock_offset_seconds /m)
  })

  test('one half of the pair', async () => {
    const { url } = await app()
    const diagnosis = await askDoctor(url, { ...PAIR, authKey: NEW.authKey })
    expect(faultsOf(diagnosis)).toEqual(['pair_half'])
    expect(textOf(diagnosis, 'pair_half')).toContain('the Auth Key does not')
    const keyAlone = await app({ credentials: { authKey: PAIR.authKey } })
    expect(textOf(await askDoctor(keyAlone.url), 'pair_half')).toContain('checks no signature')
  })

  test.each([400, -400, 7 * 3_600])('a clock that is %i s off, known in its own process', async (seconds) => {
    const { receiver, url } = await app({ clock: () => Date.now() + seconds * 1_000 })
    const diagnosis = await receiver.doctor({ url })
    expect(faultsOf(diagnosis)).toEqual(['clock_off'])
    const said = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'}`
    expect(textOf(diagnosis, 'clock_off')).toContain(said)
    expect(faultsOf(await askDoctor(url))).toEqual(['pair_wrong'])
  })

  test('a clock that is drifting', async () => {
    const { url } = await app({ clock: () => Date.now() - 60_000 })
    expect(faultsOf(await askDoctor(url))).toEqual(['clock_drifts'])
  })
})

describe('in the app', () => {
  /** As a store on another machine. */
  function lasting(store: Store): Store {
    return { ...store, capabilities: { ...store.capabilities, name: 'distant', durable: true } }
  }

  test('events wait in memory, in production', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { receiver, url } = await app()
    expect(faultsOf(await receiver.doctor({ url }))).toEqual(['memory_store'])
  })

  test('no spool folder for callbacks while the store is unavailable', async () => {
    const { receiver, url } = await app({ store: lasting(memoryStore()) })
    expect(faultsOf(await receiver.doctor({ url }))).toEqual(['no_spool'])
    const meant = await app({ store: lasting(memoryStore()), spool: false })
    expect(faultsOf(await meant.receiver.doctor({ url: meant.url }))).toEqual([])
  })

  test('a store that cannot be opened', async () => {
    const store = { ...memoryStore(), open: () => Promise.reject(new Error('unavailable')) }
    const { receiver, url } = await app({ store })
    expect(faultsOf(await receiver.doctor({ url }))).toEqual(['store_away'])
    expect(faultsOf(await receiver.doctor({ url: `http://127.0.0.1:${await freePort()}/` }))).toEqual([
      'nothing_listens',
      'store_away',
    ])
  })

  test('no handler, and types without one', async () => {
    const { receiver } = await receiving()
    const url = await serving(receiver.middleware('status'))
    expect(faultsOf(await receiver.doctor({ url }))).toEqual(['no_handler'])
    receiver.on(['message.delivered', 'message.failed'], () => {})
    const diagnosis = await receiver.doctor({ url })
    expect(faultsOf(diagnosis)).toEqual(['types_unhandled'])
    expect(textOf(diagnosis, 'types_unhandled')).toContain('Types: message.queued, message.sent, message.read.')
    receiver.on('message.*', () => {})
    expect(faultsOf(await receiver.doctor({ url }))).toEqual([])
  })

  test('ignores handlers that run in another process', async () => {
    const store = memoryStore()
    const shared = { ...store, capabilities: { ...store.capabilities, shared: true } }
    const { receiver } = await receiving({ dispatch: false, store: shared })
    expect(faultsOf(await receiver.doctor({ url: await serving(receiver.middleware('status')) }))).toEqual([])
  })

  test('networks with unknown status words', async () => {
    const { receiver, url } = await app({ networks: { known: 'carrierB' } })
    for (const network of ['known', 'airwave', 'airwave'])
      await post(url, callback.smsDelivery({ network, status: 'lost_in_transit' }))
    await post(url, callback.smsDelivery({ network: 'fine', status: 'success' }))
    await receiver.drain()
    const diagnosis = await receiver.doctor({ url })
    expect(faultsOf(diagnosis)).toEqual(['networks_missing'])
    expect(textOf(diagnosis, 'networks_missing')).toContain('Networks: "airwave".')
  })
})
