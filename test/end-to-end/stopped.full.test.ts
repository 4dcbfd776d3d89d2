/**
 * SIGTERM under load, from clients that keep connections and from clients that open one per callback: no client is cut
 * off or refused, every callback answered 204 survives the restart, and the process ends.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { StoppedAppSettings } from './programs/stopped-app.ts'
import { ownFolder } from '../support/own-folder.ts'

const AUTH_KEY = 'auth-key-of-the-stopped-app'
/** The error for a listening socket that is closed: the client knows at once that nothing was sent. */
const NOT_LISTENING = 'ECONNREFUSED'

interface App {
  readonly port: number
  readonly child: ChildProcess
  readonly folder: string
  readonly ended: Promise<readonly [code: number | null, signal: string | null]>
}

async function startApp(settings: Partial<StoppedAppSettings> = {}): Promise<App> {
  const folder = settings.folder ?? ownFolder()
  const whole = { folder, store: 'sqlite', authKey: AUTH_KEY, handlerMs: 2, options: {}, ...settings } as const
  const program = new URL('./programs/stopped-app.ts', import.meta.url)
  const child = fork(program, [JSON.stringify(whole)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  // `once` resolves with the program's message, or with the child's exit code.
  const ended = once(child, 'exit') as unknown as App['ended']
  const ready = once(child, 'message') as Promise<[{ port: number }]>
  const early = ended.then(([code]): never => {
    throw new Error(`The app ended with ${code} before it listened.`)
  })
  const [{ port }] = await Promise.race([ready, early])
  return { port, child, folder, ended }
}

interface Outcome {
  readonly status: number | undefined
  readonly connection: string | undefined
  readonly failure: string | undefined
}

/** Sends one callback about a message; `agent` false opens a new connection for it. */
function send(port: number, messageId: string, agent: http.Agent | false): Promise<Outcome> {
  const body = JSON.stringify(callback.smsDelivery({ authKey: AUTH_KEY, messageId }))
  return new Promise((resolve) => {
    const headers = { 'content-length': Buffer.byteLength(body) }
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent, headers }, (response) => {
      response.resume()
      const { statusCode: status, headers } = response
      response.on('end', () => resolve({ status, connection: headers.connection, failure: undefined }))
    })
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ status: undefined, connection: undefined, failure: error.code ?? error.message }),
    )
    request.end(body)
  })
}

function pool(): http.Agent {
  const agent = new http.Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  return agent
}

/** The log of the app: which handlers started and ended, and whether the app closed. */
function logOf({ folder }: { readonly folder: string }): readonly string[] {
  return readFileSync(join(folder, 'handlers.log'), 'utf8').trim().split('\n')
}

test(
  'SIGTERM under load cuts no connection off, and every event answered 204 is dispatched',
  { timeout: 60_000 },
  async () => {
    // As behind a load balancer, which learns of the shutdown while the server still listens.
    const app = await startApp({ handlerMs: 20, options: { listenMs: 300, idleMs: 300 } })
    const answered = new Set<string>()
    const failures: string[] = []
    const agent = pool()
    let sent = 0
    let over = false

    async function client(connections: http.Agent | false): Promise<void> {
      for (;;) {
        const messageId = `m${(sent += 1)}`
        const { status, connection, failure } = await send(app.port, messageId, connections)
        if (status === 204) answered.add(messageId)
        else if (failure !== NOT_LISTENING) failures.push(`${messageId}: ${status ?? failure}`)
        if (over && (connections === false || connection === 'close' || failure === NOT_LISTENING)) return
      }
    }

    const clients = [...Array.from({ length: 8 }, () => client(agent)), ...[false, false].map(() => client(false))]
    await vi.waitFor(() => expect(answered.size).toBeGreaterThan(200), { timeout: 30_000 })
    app.child.kill('SIGTERM')
    over = true
    await Promise.all(clients)
    expect(await app.ended).toEqual([0, null])
    expect(failures).toEqual([])

    // Handlers are slower than arrivals, so some events remain for the next start.
    const doneBefore = logOf(app).filter((line) => line.startsWith('end '))
    expect(doneBefore.length).toBeLessThan(answered.size)
    expect(logOf(app).at(-1)).toBe('closed')
    const next = await startApp({ folder: app.folder, handlerMs: 0 })
    await vi.waitFor(
      () => {
        const done = new Set(logOf(app).filter((line) => line.startsWith('end ')))
        expect([...answered].filter((messageId) => !done.has(`end ${messageId}`))).toEqual([])
      },
      { timeout: 30_000, interval: 100 },
    )
    const started = logOf(app).filter((line) => line.startsWith('begin '))
    expect(started.length).toBe(new Set(started).size)
    next.child.kill('SIGTERM')
    expect(await next.ended).toEqual([0, null])
  },
)

/** Resolves when the app has stopped listening. */
async function untilRefused({ port }: App): Promise<void> {
  await vi.waitFor(async () => expect(await send(port, 'elsewhere', false)).toMatchObject({ failure: NOT_LISTENING }), {
    timeout: 30_000,
  })
}

/** Asks another listener of the app's server. */
function askHealth(port: number, agent: http.Agent): Promise<Pick<Outcome, 'connection'>> {
  return new Promise((resolve, reject) => {
    http
      .get({ host: '127.0.0.1', port, path: '/health', agent }, (response) => {
        response.resume()
        response.on('end', () => resolve({ connection: response.headers.connection }))
      })
      .on('error', reject)
  })
}

test.each([
  ['the receiver', (port: number, agent: http.Agent) => send(port, 'm', agent)],
  ['another listener', askHealth],
])('a keep-alive connection gets one more answer of %s, which closes it', async (_who, ask) => {
  const app = await startApp({ options: { idleMs: 20_000, deadlineMs: 20_000 } })
  const agent = pool()
  expect((await ask(app.port, agent)).connection).toBe('keep-alive')
  app.child.kill('SIGTERM')
  await untilRefused(app)
  expect((await ask(app.port, agent)).connection).toBe('close')
  expect(await app.ended).toEqual([0, null])
})

test('an idle connection holds the process for idleMs only', async () => {
  const app = await startApp({ options: { idleMs: 50, deadlineMs: 600_000 } })
  expect(await send(app.port, 'before', pool())).toMatchObject({ status: 204 })
  app.child.kill('SIGTERM')
  expect(await app.ended).toEqual([0, null])
})

test('answers clients that are connected but not yet accepted', async () => {
  const app = await startApp()
  app.child.kill('SIGSTOP')
  // The kernel accepts the connections; the process sees them only after SIGCONT, together with the signal.
  const outcomes = Array.from({ length: 20 }, (_, index) => send(app.port, `m${index}`, false))
  await new Promise((resolve) => setTimeout(resolve, 200))
  app.child.kill('SIGTERM')
  app.child.kill('SIGCONT')
  expect((await Promise.all(outcomes)).map(({ status, failure }) => status ?? failure)).toEqual(outcomes.map(() => 204))
  expect(await app.ended).toEqual([0, null])
})

test('the memory store dispatches every event answered 204 before the process ends', async () => {
  const app = await startApp({ store: 'memory', handlerMs: 100, options: { deadlineMs: 600_000 } })
  const agent = pool()
  const messages = Array.from({ length: 60 }, (_, index) => `m${index}`)
  const outcomes = await Promise.all(messages.map((messageId) => send(app.port, messageId, agent)))
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([204]))
  agent.destroy()
  app.child.kill('SIGTERM')
  expect(await app.ended).toEqual([0, null])
  expect(new Set(logOf(app).filter((line) => line.startsWith('end ')))).toEqual(
    new Set(messages.map((messageId) => `end ${messageId}`)),
  )
})

test.each([
  ['1', 1, {}],
  ['the exit code that the app has set', 7, { exitCode: 7 }],
])('a process that lost events ends with %s', async (_what, code, settings) => {
  const options = { deadlineMs: 200, idleMs: 50 }
  const app = await startApp({ store: 'memory', handlerMs: 3_600_000, silent: true, options, ...settings })
  expect(await send(app.port, 'lost', false)).toMatchObject({ status: 204 })
  app.child.kill('SIGTERM')
  expect(await app.ended).toEqual([code, null])
  expect(logOf(app).at(-1)).toBe('closed')
})

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('a second %s while a handler hangs ends the process at once', async (signal, code) => {
  const app = await startApp({ handlerMs: 3_600_000, options: { deadlineMs: 3_600_000 } })
  expect(await send(app.port, 'hangs', false)).toMatchObject({ status: 204 })
  await vi.waitFor(() => expect(logOf(app)).toEqual(['begin hangs']), { timeout: 30_000 })
  app.child.kill(signal)
  await untilRefused(app)
  app.child.kill(signal)
  expect(await app.ended).toEqual([code, null])
})

test('ends a process that something else keeps alive', async () => {
  const app = await startApp({ heldOpen: true })
  app.child.kill('SIGINT')
  expect(await app.ended).toEqual([0, null])
  expect(logOf(app)).toEqual(['closed'])
})

test('ends the process after the last of several receivers has closed', async () => {
  const app = await startApp({ hasIdleReceiver: true, handlerMs: 1_500, heldOpen: true })
  expect(await send(app.port, 'slow', false)).toMatchObject({ status: 204 })
  await vi.waitFor(() => expect(logOf(app)).toEqual(['begin slow']), { timeout: 30_000 })
  app.child.kill('SIGTERM')
  expect(await app.ended).toEqual([0, null])
  expect(logOf(app)).toEqual(['begin slow', 'end slow', 'closed'])
})
