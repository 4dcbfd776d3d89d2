/** Clients that send the steps of one message after another, and write down how each callback was answered. */
import http from 'node:http'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect } from 'vitest'
import { AUTH_KEY, SECRET, type HandedOver } from './app.ts'

const STEPS = ['sent', 'delivered', 'read'] as const

interface Answer {
  /** Undefined where the connection broke instead. */
  readonly status: number | undefined
  readonly afterMs: number
}

interface Ledger {
  /** `message status` of what was answered 204. */
  readonly taken: Set<string>
  readonly statuses: Map<number | undefined, number>
  slowestMs: number
}

export function ledger(): Ledger {
  return { taken: new Set(), statuses: new Map(), slowestMs: 0 }
}

interface Load {
  stop(): Promise<void>
}

function sendBytes(url: string, body: string | Buffer, agent?: http.Agent): Promise<Answer> {
  const begunMs = performance.now()
  return new Promise((resolve) => {
    const end = (status: number | undefined): void => resolve({ status, afterMs: performance.now() - begunMs })
    const headers = { 'content-length': Buffer.byteLength(body), 'x-service-signature': signCallback(body, SECRET) }
    const request = http.request(url, { method: 'POST', headers, ...(agent && { agent }) }, (response) => {
      response.resume()
      response.once('end', () => end(response.statusCode))
      response.once('error', () => end(undefined))
    })
    request.on('error', () => end(undefined))
    request.end(body)
  })
}

export async function sendStep(
  url: string,
  into: Ledger,
  step: { readonly messageId: string; readonly status: string; readonly padding?: string },
  agent?: http.Agent,
): Promise<Answer> {
  const { messageId, status, padding } = step
  const report = callback.chatApp({ authKey: AUTH_KEY, statuses: { message_id: messageId, status } })
  const answer = await sendBytes(url, JSON.stringify({ ...report, padding }), agent)
  if (answer.status === 204) into.taken.add(`${messageId} ${status}`)
  into.statuses.set(answer.status, (into.statuses.get(answer.status) ?? 0) + 1)
  into.slowestMs = Math.max(into.slowestMs, answer.afterMs)
  return answer
}

/** So many clients at once, until they are stopped; each pauses a little, for other tests run on this machine too. */
export function startLoad(url: string, into: Ledger, { clients = 8, prefix = 'm' } = {}): Load {
  const agent = new http.Agent({ keepAlive: true })
  let messages = 0
  let stopped = false
  const running = Array.from({ length: clients }, async () => {
    while (!stopped) {
      const messageId = `${prefix}${(messages += 1)}`
      for (const status of STEPS) await sendStep(url, into, { messageId, status }, agent)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })
  return {
    async stop() {
      stopped = true
      await Promise.all(running)
      agent.destroy()
    },
  }
}

/** Everything that was answered 204 was handed over, the steps of a message in their order and none as late. */
export function expectNothingLost({ taken }: Ledger, handed: readonly HandedOver[]): void {
  const names = new Set(handed.map(({ name }) => name))
  expect([...taken].filter((name) => !names.has(name))).toEqual([])
  expect(handed.filter(({ late }) => late)).toEqual([])
  const lastPlace = new Map<string, number>()
  for (const { name } of handed) {
    const [messageId = '', status = ''] = name.split(' ')
    const place = STEPS.findIndex((step) => step === status)
    expect(place, `${name} after a later step`).toBeGreaterThanOrEqual(lastPlace.get(messageId) ?? 0)
    lastPlace.set(messageId, place)
  }
}

/** No event twice. Only an event that was in a handler's hands when its process ended may come again. */
export function expectNothingTwice(handed: readonly HandedOver[]): void {
  const seen = new Set<string>()
  const again = handed.filter(({ name }) => seen.size === seen.add(name).size)
  expect(again).toEqual([])
}
