/** Faults of the URL, the credentials, the clock and the app: the doctor names each planted one. */
import https from 'node:https'
import express from 'express'
import { memoryStore } from 'messaging-webhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeCertificate } from '../../support/certificate.ts'
import { freePort } from '../../support/free-port.ts'
import { listen, receiving, serve } from '../../support/receiving.ts'
import { startSocketServer } from '../../support/servers/sockets.ts'
import { titleWith } from '../../support/skipping.ts'
import { askDoctor, faultsOf, PAIR, textOf } from './asking.ts'

const NEW = { authKey: 'auth-key-of-the-new-pair', signingSecret: 'signing-secret-of-the-new-pair' }

async function app(options: Parameters<typeof receiving>[0] = {}) {
  const { receiver, errors } = await receiving(options)
  receiver.onAny(() => {})
  return { receiver, errors, url: await serve(receiver.middleware('status')) }
}

describe('at the URL', () => {
  test.each([
    ['nothing listens', async () => `http://127.0.0.1:${await freePort()}/`, ['nothing_listens']],
    [
      'the name has no address',
      () => Promise.resolve('http://no-such-host.invalid/status'),
      ['host_unknown', 'https_missing'],
    ],
    ['a server listens and never answers', () => serve(() => {}), ['no_answer']],
    ['a server listens and hangs up', () => serve((request) => request.socket.destroy()), ['no_answer']],
  ])('%s', async (_, at, codes) => {
    const timeoutMs = codes.includes('no_answer') ? 50 : 10_000
    expect(faultsOf(await askDoctor(await at(), PAIR, { timeoutMs }))).toEqual(codes)
  })

  test('a redirect, which is not followed', async () => {
    const asked: string[] = []
    const elsewhere = await serve((request, response) => {
      asked.push(request.url ?? '')
      response.end()
    })
    const location = `${elsewhere}status/?token=secret-of-the-query`
    const diagnosis = await askDoctor(await serve((_, response) => void response.writeHead(308, { location }).end()))
    expect(faultsOf(diagnosis)).toEqual(['redirect'])
    expect(textOf(diagnosis, 'redirect')).toContain(`308 and points to ${elsewhere}status/.`)
    expect(JSON.stringify(diagnosis)).not.toContain('secret-of-the-query')
    expect(asked).toEqual([])
  })

  test.each([
    [204, 'other_handler'],
    [401, 'access_denied'],
    [403, 'access_denied'],
    [404, 'path_unknown'],
    [405, 'path_unknown'],
    [408, 'body_lost'],
    [413, 'body_lost'],
    [415, 'body_lost'],
    [422, 'other_handler'],
    [500, 'server_failed'],
    [502, 'server_failed'],
    [503, 'unavailable'],
  ] as const)(
    'another server that answers %i: %s; its body, which may quote the probe, is not shown',
    async (status, code) => {
      const url = await serve(
        express().use(express.text({ type: () => true }), (request, response) => {
          response.status(status).send(`got ${String(request.body)}`)
        }),
      )
      const diagnosis = await askDoctor(url)
      expect(faultsOf(diagnosis)).toEqual([code])
      expect(textOf(diagnosis, code)).toContain(`It answered ${status}.`)
      expect(JSON.stringify(diagnosis)).not.toContain('got')
    },
  )

  test('a server without TLS', async () => {
    const { port, close } = await startSocketServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    onTestFinished(close)
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
      expect(faultsOf(diagnosis)).toEqual(['tls_failed'])
      expect(textOf(diagnosis, 'tls_failed')).toContain('DEPTH_ZERO_SELF_SIGNED_CERT')
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

  test('a failing credentials function', async () => {
    const { url } = await app({ credentials: () => Promise.reject(new Error('unavailable')), quarantine: false })
    expect(faultsOf(await askDoctor(url))).toEqual(['unavailable'])
  })
})

describe('with the pair and the clock', () => {
  test('a wrong pair: the app logs the refusal and keeps nothing', async () => {
    const { receiver, errors, url } = await app()
    expect(faultsOf(await askDoctor(url, NEW))).toEqual(['pair_wrong'])
    expect(errors.map(({ code }) => code)).toEqual(['signature_mismatch'])
    expect(receiver.quarantine.size).toBe(0)
  })

  test.each([
    ['the signing secret does not', { ...PAIR, signingSecret: NEW.signingSecret }],
    ['the Auth Key does not', { ...PAIR, authKey: NEW.authKey }],
    ['checks no signature', { authKey: PAIR.authKey }],
    [
      'the signing secret does not',
      [
        { ...PAIR, signingSecret: NEW.signingSecret },
        { ...PAIR, notAfter: Date.now() - 1_000 },
      ],
    ],
  ])('one half of the pair: %s', async (text, credentials) => {
    const { receiver, url, errors } = await app({ credentials })
    const handled: unknown[] = []
    receiver.onAny((event) => void handled.push(event))
    const diagnosis = await askDoctor(url)
    expect(faultsOf(diagnosis)).toEqual(['pair_half'])
    expect(textOf(diagnosis, 'pair_half')).toContain(text)
    await receiver.drain()
    expect([handled, errors, receiver.quarantine.size]).toEqual([[], [], 0])
  })

  test('the newest pair of a rotation signs', async () => {
    const { receiver, url } = await app({ credentials: [{ ...NEW, notAfter: Date.now() + 3_600_000 }, PAIR] })
    const only = await app({ credentials: PAIR })
    expect(faultsOf(await receiver.doctor({ url }))).toEqual([])
    expect(faultsOf(await receiver.doctor({ url: only.url }))).toEqual([])
  })

  test.each([60, -60, 400, -400, 7 * 3_600])(
    'a clock that is %i s off, whatever the `Date` of a proxy',
    async (seconds) => {
      const { receiver, url } = await app({ clock: () => Date.now() + seconds * 1_000 })
      for (const diagnosis of [await receiver.doctor({ url }), await askDoctor(url)]) {
        expect(faultsOf(diagnosis)).toEqual(['clock_off'])
        // The answer has whole seconds, and the probe was under way.
        const said = /is (\d+) s (ahead of|behind) this machine/.exec(textOf(diagnosis, 'clock_off')) ?? []
        expect(Math.abs(Number(said[1]) - Math.abs(seconds))).toBeLessThanOrEqual(2)
        expect(said[2]).toBe(seconds > 0 ? 'ahead of' : 'behind')
      }
      const secretAlone = { signingSecret: PAIR.signingSecret }
      expect(faultsOf(await askDoctor(url, secretAlone))).toContain('clock_off')
      expect(faultsOf(await askDoctor(url, NEW))).toEqual(['pair_wrong'])
      expect(receiver.quarantine.counts()).toMatchObject({ provedButStale: 0 })
      expect(await receiver.metrics()).not.toMatch(/^messaging_webhooks_clock_offset_seconds /m)
    },
  )

  test('a clock that is within 30 s, but beyond the tolerance of the receiver', async () => {
    const { receiver, url } = await app({ clock: () => Date.now() - 20_000, toleranceSeconds: 10 })
    for (const diagnosis of [await receiver.doctor({ url }), await askDoctor(url)])
      expect(faultsOf(diagnosis)).toEqual(['clock_off'])
  })

  test.each([
    [PAIR, -60, []],
    [NEW, -60, ['clock_off']],
    [NEW, 400, ['clock_off']],
  ])(
    'another time in the `Date` of the answer, if no receiver with this pair tells its own',
    async (pair, seconds, found) => {
      const { receiver } = await app()
      const middleware = receiver.middleware('status')
      const url = await serve((request, response) => {
        response.setHeader('date', new Date(Date.now() + seconds * 1_000).toUTCString())
        middleware(request, response)
      })
      const diagnosis = await askDoctor(url, pair)
      expect(faultsOf(diagnosis)).toEqual(found)
      if (found.length === 0) return
      expect(textOf(diagnosis, 'clock_off')).toMatch(seconds < 0 ? /(59|6[01]) s behind/ : /(399|40[01]) s ahead/)
    },
  )
})

describe('in the app', () => {
  test('a store that cannot be opened', async () => {
    const store = { ...memoryStore(), open: () => Promise.reject(new Error('unavailable')) }
    const { receiver, url } = await app({ store })
    expect(faultsOf(await receiver.doctor({ url }))).toEqual(['store_away'])
    const nowhere = `http://127.0.0.1:${await freePort()}/`
    expect(faultsOf(await receiver.doctor({ url: nowhere }))).toEqual(['nothing_listens', 'store_away'])
  })

  test('types without a handler', async () => {
    const { receiver } = await receiving()
    const url = await serve(receiver.middleware('status'))
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
    expect(faultsOf(await receiver.doctor({ url: await serve(receiver.middleware('status')) }))).toEqual([])
  })
})
