/** Starts an app that will be killed, and plays the service to it: a client that writes down every 204. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, onTestFinished } from 'vitest'
import type { CrashPlan } from './crash-plan.ts'

const CLIENTS = 8
const LOOK_EVERY_MS = 50
const LONGEST_LIFE_MS = 30_000
const AUTH_KEY = 'auth-key-of-the-crash-test'
const SECRET = 'signing-secret-of-the-crash-test'
/** The reports of each message, in their order. */
export const STATES = ['sent', 'delivered', 'read'] as const

/** What the service knows. */
export interface ServiceRecord {
  sent: number
  messages: number
  /** `message status` of every callback that was answered 204. */
  readonly answered: Set<string>
}

export function newServiceRecord(): ServiceRecord {
  return { sent: 0, messages: 0, answered: new Set() }
}

type Life = Pick<CrashPlan, 'folder' | 'crash' | 'outage'>

/** `port` is undefined where the app was dead before it listened: what it found at its start can lead it to its end. */
async function startApp(life: Life): Promise<{ readonly child: ChildProcess; readonly port: number | undefined }> {
  const plan: CrashPlan = { ...life, authKey: AUTH_KEY, signingSecret: SECRET }
  const program = new URL('./programs/killed-app.ts', import.meta.url)
  const child = fork(program, [JSON.stringify(plan)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const port = await new Promise<number | undefined>((resolve) => {
    // What the program sends first.
    child.once('message', (message) => resolve((message as { port: number }).port))
    child.once('exit', () => resolve(undefined))
  })
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

/** Sends the reports of one message after another until the server is dead. */
async function client(agent: http.Agent, port: number, record: ServiceRecord, answered: () => void): Promise<void> {
  for (;;) {
    const messageId = `m${(record.messages += 1)}`
    for (const status of STATES) {
      const body = callback.chatApp({ authKey: AUTH_KEY, statuses: { message_id: messageId, status } })
      record.sent += 1
      const answer = await send(agent, port, JSON.stringify(body))
      if (answer === undefined) return
      if (answer === 204) {
        record.answered.add(`${messageId} ${status}`)
        answered()
      }
    }
  }
}

/**
 * One life of the app under load, to its end by SIGKILL: from outside, `killAfterMs` after its first answer, or by its own
 * plan. One that never comes to the point of its plan is ended too, and is missed where points are counted.
 */
export async function liveAndDie(life: Life, record: ServiceRecord, killAfterMs = LONGEST_LIFE_MS): Promise<void> {
  const { child, port } = await startApp(life)
  const agent = new http.Agent({ keepAlive: true })
  const kill = (): void => void child.kill('SIGKILL')
  let timer = setTimeout(kill, LONGEST_LIFE_MS)
  let isAnswered = false
  function answered(): void {
    if (isAnswered) return
    isAnswered = true
    clearTimeout(timer)
    timer = setTimeout(kill, killAfterMs)
  }
  if (port !== undefined)
    await Promise.all(Array.from({ length: CLIENTS }, () => client(agent, port, record, answered)))
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  clearTimeout(timer)
  agent.destroy()
  expect(child.signalCode).toBe('SIGKILL')
}

/** The last life: nothing is sent, the store is there, and it ends when everything is settled. */
export async function settleAll(folder: string): Promise<void> {
  const { child } = await startApp({ folder })
  while (spooled(folder) > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  child.send('drain')
  const [ended] = (await once(child, 'message')) as [object]
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(ended).toMatchObject({ drained: true, unsettled: 0, deadLetters: 0 })
}

/** Files of the spool that wait for the store. */
export function spooled(folder: string): number {
  const files = readdirSync(join(folder, 'inbox.db-spool'), { recursive: true, encoding: 'utf8' })
  return files.filter((name) => name.endsWith('.segment')).length
}
