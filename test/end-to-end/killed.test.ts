/**
 * kill -9 at random moments under load, from a client that writes down every 204: nothing that was answered is lost, none
 * comes in the wrong order, and only what was in a handler's hands comes again. `KILLS` says how often (`npm run
 * test:crash`: a hundred times).
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'

const KILLS = Number(process.env['KILLS'] ?? '8')
const CLIENTS = 8
/** The default of `concurrency`: at most so many events are in handlers' hands at once. */
const CONCURRENCY = 16
const STATES = ['sent', 'delivered', 'read'] as const
const AUTH_KEY = 'auth-key-of-the-crash-test'
const SECRET = 'signing-secret-of-the-crash-test'

interface App {
  readonly child: ChildProcess
  readonly port: number
}

async function startApp(folder: string): Promise<App> {
  const program = new URL('./programs/killed-app.ts', import.meta.url)
  const child = fork(program, [folder, AUTH_KEY, SECRET], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { child, port }
}

/** Resolves to the status of the answer, or to undefined where the server died before it. */
function send(agent: http.Agent, port: number, body: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { 'content-length': Buffer.byteLength(body), 'x-service-signature': signCallback(body, SECRET) }
    const request = http.request({ host: '127.0.0.1', port, method: 'POST', agent, headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', () => resolve(undefined))
    request.end(body)
  })
}

test(`kill -9 ${KILLS} times under load loses and reverses nothing`, { timeout: 60_000 + KILLS * 5_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'killed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  /** `message status` of every callback that was answered 204. */
  const answered = new Set<string>()
  let messages = 0
  let sent = 0

  for (let kill = 0; kill < KILLS; kill += 1) {
    const { child, port } = await startApp(folder)
    const agent = new http.Agent({ keepAlive: true })
    const life = { over: false }
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!life.over) {
        const messageId = `m${(messages += 1)}`
        for (const status of STATES) {
          const body = callback.chatApp({ authKey: AUTH_KEY, statuses: { message_id: messageId, status } })
          sent += 1
          if ((await send(agent, port, JSON.stringify(body))) === 204) answered.add(`${messageId} ${status}`)
        }
      }
    })
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 400))
    child.kill('SIGKILL')
    life.over = true
    await Promise.all([...clients, once(child, 'exit')])
    agent.destroy()
  }

  const { child } = await startApp(folder)
  child.send('drain')
  const [ended] = (await once(child, 'message')) as [{ drained: boolean; unsettled: number }]
  child.kill('SIGKILL')
  expect(ended).toMatchObject({ drained: true, unsettled: 0 })

  const lines = readFileSync(join(folder, 'handlers.log'), 'utf8').trim().split('\n')
  const begun = new Map<string, number>()
  const done = new Set<string>()
  const lastPlace = new Map<string, number>()
  for (const line of lines) {
    const [what = '', id = '', messageId = '', status = ''] = line.split(' ')
    const name = `${messageId} ${status}`
    if (what === 'end') {
      done.add(name)
      continue
    }
    begun.set(id, (begun.get(id) ?? 0) + 1)
    const place = STATES.findIndex((state) => state === status)
    expect(place, `${name} after a later state`).toBeGreaterThanOrEqual(lastPlace.get(messageId) ?? 0)
    lastPlace.set(messageId, place)
  }
  const lost = [...answered].filter((name) => !done.has(name))
  const repeated = [...begun.values()].reduce((sum, times) => sum + times - 1, 0)
  console.log(
    `${KILLS} kills: ${sent} callbacks sent, ${answered.size} answered 204, ${begun.size} handed over, ` +
      `${repeated} of them again, ${lost.length} lost`,
  )
  expect(lost).toEqual([])
  expect(answered.size).toBeGreaterThan(0)
  expect(repeated).toBeLessThanOrEqual(KILLS * CONCURRENCY)
})
