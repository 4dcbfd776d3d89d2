/**
 * The page about containers and proxies: the app as process 1 of a container with a read-only root, and two instances that
 * restart and die behind nginx and HAProxy, with the page's own configurations, while callbacks arrive.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ROOT } from '../../docs/markdown.ts'
import { describePostgres } from '../stores/postgres/schema.ts'
import { freePort } from '../support/free-port.ts'
import { ownFolder } from '../support/own-folder.ts'
import { startProgram } from '../support/program.ts'
import { programAt } from '../support/servers/own-server.ts'
import { titleWith } from '../support/skipping.ts'
import { appFolder, blockOf, CREDENTIALS, migratedDatabase, report, startApp } from './production-app.ts'

const PAGE = 'docs/guides/containers.md'
/** At least so many callbacks arrive while the instances restart. */
const CALLBACKS = Number(process.env['CALLBACKS'] ?? 5_000)
const CONNECTIONS = 24

/** With CI=true, the tests must run. */
function needed(reason: string | undefined): string | undefined {
  if (reason !== undefined && process.env['CI'] === 'true') throw new Error(`Its tests cannot run: ${reason}.`)
  return reason
}

const noProgram = (name: string): string | undefined => needed(programAt(name) === undefined ? `no ${name}` : undefined)

const PROXIES = [
  {
    name: 'nginx',
    missing: noProgram('nginx'),
    arguments: (folder: string) => ['-p', folder, '-e', 'stderr', '-c', 'proxy.conf'],
    around: (block: string) =>
      `daemon off; pid nginx.pid; ${process.getuid?.() === 0 ? 'user root;' : ''} events {}
http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
scgi_temp_path scgi; ${block} }`,
    listening: ['listen 80;', (port: number) => `listen 127.0.0.1:${port};`],
  },
  {
    name: 'haproxy',
    missing: noProgram('haproxy'),
    arguments: (folder: string) => ['-db', '-f', join(folder, 'proxy.conf')],
    around: (block: string) => block,
    listening: ['bind :80', (port: number) => `bind 127.0.0.1:${port}`],
  },
] as const

/** Replaces a text that the configuration must have. */
function replaced(text: string, from: string, to: string): string {
  expect(text).toContain(from)
  return text.replaceAll(from, to)
}

async function startProxy(proxy: (typeof PROXIES)[number], apps: readonly number[]): Promise<number> {
  const folder = ownFolder()
  const port = await freePort()
  let block = blockOf(PAGE, proxy.name === 'nginx' ? 'nginx' : 'text')
  const [listens, listen] = proxy.listening
  block = replaced(block, listens, listen(port))
  for (const [index, app] of apps.entries()) block = replaced(block, `10.0.0.${index + 1}:3000`, `127.0.0.1:${app}`)
  writeFileSync(join(folder, 'proxy.conf'), proxy.around(block))
  const { child, ended } = startProgram(programAt(proxy.name) ?? '', proxy.arguments(folder), { cwd: folder })
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await vi.waitFor(async () => expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(404), {
    timeout: 20_000,
  })
  return port
}

/** Sends callbacks on connections that stay open, as a sender does, until it is stopped. Answers what came back. */
function startSender(port: number) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const sent: string[] = []
  const refused: string[] = []
  let isStopped = false

  async function send(messageId: string): Promise<void> {
    const body = JSON.stringify(callback.smsDelivery({ messageId }))
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-service-signature': signCallback(body, CREDENTIALS.SIGNING_SECRET),
    }
    const outcome = await new Promise<string>((resolve) => {
      const request = http.request(
        { host: '127.0.0.1', port, path: '/webhooks/status', method: 'POST', agent, headers },
        (response) => {
          response.resume().on('end', () => resolve(String(response.statusCode)))
        },
      )
      request.on('error', ({ message }) => resolve(message))
      request.end(body)
    })
    if (outcome !== '204') refused.push(outcome)
  }

  async function sendAll(): Promise<void> {
    while (!isStopped) {
      const messageId = `m-${sent.length}`
      sent.push(messageId)
      await send(messageId)
    }
  }

  const all = Promise.all(Array.from({ length: CONNECTIONS }, sendAll))
  return {
    count: () => sent.length,
    async stop() {
      isStopped = true
      await all
      agent.destroy()
      return { sent, refused }
    },
  }
}

type App = Awaited<ReturnType<typeof startApp>>

describePostgres('two instances', () => {
  describe.each(PROXIES)('behind $name', (proxy) => {
    test.skipIf(proxy.missing !== undefined)(
      titleWith(proxy.missing, 'lose no callback when each restarts, and when one is killed'),
      { timeout: 300_000 },
      async () => {
        const folder = await appFolder()
        const databaseUrl = await migratedDatabase(`mw_${proxy.name}_${process.pid}`)
        const ports = [await freePort(), await freePort()] as const
        const started: App[] = []
        const start = async (index: 0 | 1): Promise<App> => {
          const env = { DATABASE_URL: databaseUrl, SPOOL: join(folder, `spool-${index}`) }
          const app = await startApp(folder, ports[index], env)
          started.push(app)
          await vi.waitFor(async () => expect((await fetch(`${app.url}/readyz`)).status).toBe(200), { timeout: 30_000 })
          return app
        }
        const apps = [await start(0), await start(1)] as const
        const port = await startProxy(proxy, ports)
        const sender = startSender(port)

        // A rolling restart. The balancer may need some seconds to notice that an instance is ready again.
        let killed = apps[0]
        for (const [index, app] of [
          [0, apps[0]],
          [1, apps[1]],
        ] as const) {
          app.child.kill('SIGTERM')
          expect(await app.ended).toMatchObject({ code: 0 })
          const again = await start(index)
          if (index === 0) killed = again
          await vi.waitFor(() => expect(again.lines().length).toBeGreaterThan(0), { timeout: 30_000 })
        }
        killed.child.kill('SIGKILL')
        await killed.ended
        await start(0)
        await vi.waitFor(() => expect(sender.count()).toBeGreaterThan(CALLBACKS), { timeout: 200_000 })

        const { sent, refused } = await sender.stop()
        expect(refused).toEqual([])
        const handled = (): ReadonlySet<string> =>
          new Set(started.flatMap((app) => app.lines()).map((line) => line.replace(' was delivered', '')))
        await vi.waitFor(
          () => {
            const done = handled()
            expect(sent.filter((id) => !done.has(id))).toEqual([])
          },
          { timeout: 60_000, interval: 500 },
        )
        console.log(`${proxy.name}: ${sent.length} callbacks, none lost`)
      },
    )
  })
})

/** Runs a command as process 1 with a root that it cannot write, and `volume` where the page mounts one. */
const IN_A_CONTAINER = `
set -e
root=$1; volume=$2; at=$3; folder=$4; shift 4
mount -t tmpfs tmpfs "$(dirname "$at")"
mkdir "$at"
mount --bind "$volume" "$at"
mount --bind "$root" /mnt
mount -t proc proc /proc
mount -o remount,ro,bind /
cd "/mnt/$folder"
exec setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps +dac_read_search --ambient-caps +dac_read_search "$@"
`

function canUnshare(): boolean {
  return spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0
}

const noContainer =
  process.platform === 'linux' && process.getuid?.() === 0
    ? needed(canUnshare() ? undefined : 'unshare fails')
    : 'only root on Linux can make namespaces'

test.skipIf(noContainer !== undefined)(
  titleWith(noContainer, 'the app of the Dockerfile is process 1, writes to its volume only, and ends at SIGTERM'),
  { timeout: 120_000 },
  async () => {
    const dockerfile = blockOf(PAGE, 'dockerfile')
    // The image has this user with the ID 1000.
    expect(dockerfile).toMatch(/^USER node$/m)
    const volume = /^VOLUME (.+)$/m.exec(dockerfile)?.[1] ?? ''
    const command: unknown = JSON.parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? '')
    expect(command).toEqual(['node', 'app.ts'])

    const folder = await appFolder()
    const disk = ownFolder()
    chmodSync(folder, 0o755)
    chownSync(disk, 1000, 1000)
    const port = await freePort()
    const env = { ...CREDENTIALS, DATABASE_URL: `postgres://app@127.0.0.1:${await freePort()}/app`, PORT: String(port) }
    const placing = [ROOT, disk, volume, folder.slice(ROOT.length)]
    const app = [process.execPath, 'app.ts']
    const args = ['--mount', '--pid', '--fork', 'sh', '-c', IN_A_CONTAINER, 'sh', ...placing, ...app]
    const { child, ended } = startProgram('unshare', args, { env })
    const listening = vi.waitFor(() => fetch(`http://127.0.0.1:${port}/livez`), { timeout: 60_000, interval: 100 })
    await Promise.race([listening, ended.then(({ stderr }) => Promise.reject(new Error(stderr)))])
    // Process 1 of the container is the only child of `unshare`.
    const processOne = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'))
    onTestFinished(() => {
      if (child.exitCode === null) process.kill(processOne, 'SIGKILL')
    })
    expect(readFileSync(`/proc/${processOne}/status`, 'utf8')).toMatch(/^Uid:\s+1000\b[^]*^NSpid:.*\s1$/m)
    expect(await report(`http://127.0.0.1:${port}`, 'm-1')).toBe(204)
    expect(readdirSync(join(disk, 'spool'))).not.toEqual([])
    process.kill(processOne, 'SIGTERM')
    expect(await ended).toMatchObject({ code: 0, stdout: '' })
  },
)

test('the manifest of Kubernetes waits long enough, and asks what the app answers', () => {
  const manifest = blockOf(PAGE, 'yaml')
  const app = blockOf('docs/guides/production.md', 'ts', '// app.ts')
  const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]?.replace('_', ''))
  const graceS = numberIn(manifest, /terminationGracePeriodSeconds: (\d+)/)
  const preStopS = numberIn(manifest, /command: \['sleep', '(\d+)'\]/)
  const deadlineMs = numberIn(app, /deadlineMs: ([\d_]+)/)
  expect(graceS * 1_000).toBeGreaterThan(preStopS * 1_000 + deadlineMs)
  expect(numberIn(blockOf(PAGE, 'sh', 'docker run'), /--stop-timeout (\d+)/) * 1_000).toBeGreaterThan(deadlineMs)
  const port = /PORT = (\d+)/.exec(app)?.[1]
  expect([...manifest.matchAll(/path: (\S+), port: (\d+)/g)].map(([, path, at]) => [path, at])).toEqual([
    ['/livez', port],
    ['/readyz', port],
  ])
  expect(manifest).toContain(`mountPath: ${/^VOLUME (.+)$/m.exec(blockOf(PAGE, 'dockerfile'))?.[1]} }`)
  // A proxy closes idle connections before the app does.
  const keptMs = numberIn(app, /keepAliveTimeout = ([\d_]+)/)
  expect(numberIn(blockOf(PAGE, 'nginx'), /keepalive_timeout (\d+)s/) * 1_000).toBeLessThan(keptMs)
  expect(numberIn(blockOf(PAGE, 'text'), /http-keep-alive (\d+)s/) * 1_000).toBeLessThan(keptMs)
})
