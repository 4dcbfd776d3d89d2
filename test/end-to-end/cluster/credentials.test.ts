/**
 * The credentials of a connection URL are in nothing that a process prints: not in its log, nor in what `onError` hears with
 * all its causes, nor in what it dies of. Its store fails in every way in which one can.
 */
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { expect } from 'vitest'
import { freePort } from '../../support/servers/free-port.ts'
import type { EngineServer } from '../../support/servers/engines.ts'
import type { StoreSpec } from '../../support/servers/store-spec.ts'
import { startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { temporaryFolder } from './cluster.ts'
import { AUTH_KEY, startInstance, type Finally, type Instance } from './instance.ts'
import { onEachEngine, type EngineName } from './on-each-engine.ts'
import { send } from './service.ts'

const POLL = { timeout: 60_000, interval: 100 }

interface Failure {
  readonly name: string
  /** Which spec makes it fail; the server and a proxy in front of it are there. */
  readonly spec: (on: { readonly server: EngineServer; readonly proxy: TcpProxy }) => Promise<StoreSpec> | StoreSpec
  /** What happens once the instance runs. */
  readonly then?: (on: { readonly server: EngineServer; readonly proxy: TcpProxy }) => Promise<void>
  readonly engine?: EngineName
}

function changed(spec: StoreSpec, change: (url: string) => string): StoreSpec {
  return { ...spec, url: change(spec.url) }
}

const WRONG = 'wr@ng:pass/word?nobody#has'

const FAILURES: readonly Failure[] = [
  {
    name: 'a password that is wrong',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/:[^:@]*@/, `:${encodeURIComponent(WRONG)}@`)),
  },
  {
    name: 'nobody who listens',
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
  },
  {
    name: 'a port that is no port',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/@127\.0\.0\.1:\d+/, '@127.0.0.1:port')),
  },
  {
    name: 'a password that is not encoded as URLs have it',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/:[^:@]*@/, `:${server.password ?? ''}%zz@`)),
  },
  {
    name: 'a server without TLS, asked for it',
    spec: ({ server }) =>
      changed(server.spec('c'), (url) =>
        url.startsWith('redis:') ? url.replace('redis:', 'rediss:') : `${url}?sslmode=verify-full`,
      ),
  },
  {
    name: 'a database that does not exist',
    spec: ({ server }) => changed(server.spec('c'), (url) => url.replace(/\/postgres$/, '/nowhere')),
    engine: 'postgres',
  },
  {
    name: 'a database that cannot be',
    spec: ({ server }) => changed(server.spec('c'), (url) => `${url}/99999`),
    engine: 'redis',
  },
]

/** However a password may be written. */
function spellings(password: string): readonly string[] {
  return [password, encodeURIComponent(password), Buffer.from(password).toString('base64').replace(/=+$/, '')]
}

/** Runs an instance into the failure; what it printed, to its end. */
async function printedBy(failure: Failure, on: { server: EngineServer; proxy: TcpProxy }, onFinished: Finally) {
  const folder = temporaryFolder(onFinished)
  const settings = {
    store: await failure.spec(on),
    log: join(folder, 'handlers.log'),
    spool: join(folder, 'spool'),
    storeTimeoutMs: 500,
    prints: true,
  }
  let instance: Instance
  try {
    instance = await startInstance(settings, onFinished)
  } catch (error) {
    // It ended over its store; what it printed is in the error.
    return String(error)
  }
  await failure.then?.(on)
  const body = JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY }))
  await expect
    .poll(async () => {
      expect(await send(instance.url, body)).toBe(204)
      return (await instance.ask('report')).codes
    }, POLL)
    .not.toEqual([])
  await instance.ask('close')
  await instance.kill()
  return instance.printed
}

for (const failure of FAILURES)
  onEachEngine(
    failure.engine === undefined ? ['postgres', 'redis'] : [failure.engine],
    `${failure.name}: no credentials in anything that is printed`,
    async ({ server, context: { onTestFinished } }) => {
      if (server.port === undefined || server.password === undefined) throw new Error('This engine has no password.')
      const proxy = await startTcpProxy(server.port)
      onTestFinished(proxy.close)
      const printed = await printedBy(failure, { server, proxy }, onTestFinished)
      // It did say what is wrong.
      expect(printed).toMatch(/store|URL|connection/i)
      for (const secret of [...spellings(server.password), ...spellings(WRONG), AUTH_KEY])
        expect(printed).not.toContain(secret)
    },
  )
