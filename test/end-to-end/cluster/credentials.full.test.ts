/**
 * A receiver never shows the credentials of a connection URL: not in its log, not on the console, not in what `onError`
 * receives with all its causes, and not in what `start()` throws. The store fails in every possible way.
 */
import { join } from 'node:path'
import { inspect } from 'node:util'
import { callback } from 'messaging-webhooks/testing'
import { vi } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../../support/receiving.ts'
import type { EngineServer } from '../../support/servers/engines.ts'
import { storeOf, type StoreSpec } from '../../support/servers/store-spec.ts'
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { temporaryFolder } from './cluster.ts'
import { onEachEngine, type EngineName } from './on-each-engine.ts'

const POLL = { timeout: 60_000, interval: 100 }

interface Failure {
  readonly name: string
  /** The spec that makes it fail; the server and a proxy in front of it are running. */
  readonly spec: (on: { readonly server: EngineServer; readonly proxy: TcpProxy }) => Promise<StoreSpec> | StoreSpec
  /** Runs once the instance is up. */
  readonly then?: (on: { readonly server: EngineServer; readonly proxy: TcpProxy }) => Promise<void>
  readonly engine?: EngineName
  /** The server is unusable for other tests after this one. */
  readonly isLast?: boolean
}

function changed(spec: StoreSpec, change: (url: string) => string): StoreSpec {
  return { ...spec, url: change(spec.url) }
}

const WRONG = 'wr@ng:pass/word?no-one#has'

const FAILURES: readonly Failure[] = [
  {
    name: 'a wrong password',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/:[^:@]*@/, `:${encodeURIComponent(WRONG)}@`)),
  },
  {
    name: 'a port without a listener',
    spec: async ({ server }) => server.spec('c', { port: await freePort() }),
  },
  {
    name: 'a server that closes connections',
    spec({ server, proxy }) {
      proxy.mode = 'refuses'
      return server.spec('c', { port: proxy.port })
    },
  },
  {
    name: 'a server that never answers',
    spec({ server, proxy }) {
      proxy.mode = 'stalls'
      return server.spec('c', { port: proxy.port })
    },
  },
  {
    name: 'connections that are cut',
    spec: ({ server, proxy }) => server.spec('c', { port: proxy.port }),
    async then({ proxy }) {
      proxy.mode = 'refuses'
      proxy.cut()
    },
  },
  {
    name: 'a server that ends',
    spec: ({ server }) => server.spec('c'),
    then: ({ server }) => server.stop(),
    isLast: true,
  },
  {
    name: 'an invalid port',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/@127\.0\.0\.1:\d+/, '@127.0.0.1:port')),
    // With Redis the application creates the client, so the application sees the URL.
    engine: 'postgres',
  },
  {
    name: 'a password without URL encoding',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/:[^:@]*@/, `:${server.password ?? ''}%zz@`)),
    engine: 'postgres',
  },
  {
    name: 'a password among the parameters',
    spec: ({ server }) =>
      changed(server.spec('c'), (url) => url.replace(/:([^:@]*)@(.*)\/postgres$/, '@$2/nowhere?password=$1')),
    engine: 'postgres',
  },
  {
    name: 'a TLS connection to a server without TLS',
    spec: ({ server }) =>
      changed(server.spec('c'), (url) => {
        if (url.startsWith('redis:')) return url.replace('redis:', 'rediss:')
        if (url.startsWith('mysql:')) return `${url}?ssl=${encodeURIComponent('{"rejectUnauthorized":true}')}`
        return `${url}?sslmode=verify-full`
      }),
  },
  {
    name: 'a database that does not exist',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/\/postgres$/, '/nowhere')),
    engine: 'postgres',
  },
  {
    name: 'an impossible database name',
    spec: ({ server }) => changed(server.spec('c'), (url) => `${url}/99999`),
    engine: 'redis',
  },
]

/** Every way to write a password. */
function spellings(password: string): readonly string[] {
  return [password, encodeURIComponent(password), Buffer.from(password).toString('base64').replace(/=+$/, '')]
}

/** The text around each secret found. */
function leaksIn(text: string, secrets: readonly string[]): readonly string[] {
  return secrets.flatMap((secret) => {
    const at = text.indexOf(secret)
    return at < 0 ? [] : [text.slice(Math.max(0, at - 300), at + 100)]
  })
}

onEachEngine(
  ['postgres', 'mysql', 'redis'],
  'a failing store shows no credentials',
  async ({ server, engine, context: { expect, onTestFinished } }) => {
    const { port, password } = server
    if (port === undefined || password === undefined) throw new Error('This engine has no password.')
    const folder = temporaryFolder(onTestFinished)
    const shown: string[] = []
    // As an error listener may log it: with every cause and every hidden field.
    const show = (...said: readonly unknown[]): void => {
      for (const each of said)
        shown.push(
          inspect(each, { depth: Infinity, showHidden: true, maxStringLength: Infinity }),
          JSON.stringify(each),
        )
    }
    const logger = { debug: show, info: show, warn: show, error: show }
    for (const level of ['log', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(show)

    async function fail(failure: Failure): Promise<void> {
      const proxy = await startTcpProxy(port ?? 0)
      onTestFinished(proxy.close)
      const codes: string[] = []
      const failed = (error: unknown): void => {
        show(error)
        codes.push(error instanceof Error && 'code' in error ? String(error.code) : 'thrown')
      }
      const spec = await failure.spec({ server, proxy })
      const store = await storeOf(spec).catch(failed)
      if (store === undefined) return
      const options = { store, spool: join(folder, failure.name), storeTimeoutMs: 500, logger }
      const { receiver, url } = await receiving(options, { kind: 'status' }, onTestFinished)
      receiver.onError(failed)
      await receiver.start().catch(failed)
      await failure.then?.({ server, proxy })
      await expect
        .poll(
          async () => {
            expect((await post(url, callback.smsDelivery())).status).toBe(204)
            return codes
          },
          { ...POLL, message: failure.name },
        )
        .toContainEqual(expect.stringMatching(/^(store_|ERR_)/))
    }

    const failures = FAILURES.filter((failure) => (failure.engine ?? engine) === engine)
    await Promise.all(failures.filter(({ isLast }) => isLast !== true).map(fail))
    for (const failure of failures.filter(({ isLast }) => isLast === true)) await fail(failure)
    const text = shown.join('\n')
    expect(text.length).toBeGreaterThan(1_000)
    expect(leaksIn(text, [...spellings(password), ...spellings(WRONG), AUTH_KEY, SIGNING_SECRET])).toEqual([])
  },
)
