/** The service with a load balancer in front of the instances: each callback goes to a random instance. */
import http from 'node:http'
import { signCallback } from 'messaging-webhooks/testing'
import { shuffledCallbacks, type Callback } from './callbacks.ts'
import { SECRET, type Instance } from './instance.ts'

const CLIENTS = 12
const PAUSE_MS = 50
const MESSAGES_A_ROUND = 30

export interface ServiceRecord {
  sent: number
  /** Names of the callbacks answered 204. */
  readonly answered: Set<string>
  /** The number of answers by status; undefined counts broken connections. */
  readonly statuses: Map<number | undefined, number>
}

function newRecord(): ServiceRecord {
  return { sent: 0, answered: new Set(), statuses: new Map() }
}

/** Resolves to the status of the answer, or to undefined if the instance died first. */
export function send(url: string, body: string, agent?: http.Agent): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { 'content-length': Buffer.byteLength(body), 'x-service-signature': signCallback(body, SECRET) }
    const request = http.request(url, { method: 'POST', headers, ...(agent && { agent }) }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode))
      response.once('error', () => resolve(undefined))
    })
    request.on('error', () => resolve(undefined))
    request.end(body)
  })
}

/**
 * Sends all callbacks, each to one of the live instances. Resends unanswered ones; a repetition is
 * identical to the original, which may have been stored. `onProgress` receives the share of answered callbacks.
 */
export async function sendAll(
  callbacks: readonly Callback[],
  options: {
    readonly instances: () => readonly Instance[]
    readonly onProgress?: (part: number) => void
    /** Pause of each client between two callbacks. */
    readonly pauseMs?: number
    /** An existing record to continue. */
    readonly record?: ServiceRecord
  },
): Promise<ServiceRecord> {
  const { instances, onProgress, pauseMs = 0, record = newRecord() } = options
  const agent = new http.Agent({ keepAlive: true })
  const waiting = callbacks.toReversed()
  let done = 0

  async function client(): Promise<void> {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const alive = instances().filter(({ isAlive }) => isAlive)
      const instance = alive[Math.floor(Math.random() * alive.length)]
      let status: number | undefined
      if (instance !== undefined) {
        record.sent += 1
        status = await send(instance.url, next.body, agent)
        record.statuses.set(status, (record.statuses.get(status) ?? 0) + 1)
      }
      if (status === 204) {
        record.answered.add(next.name)
        onProgress?.((done += 1) / callbacks.length)
      } else if (status === undefined) {
        waiting.push(next)
        await pause(PAUSE_MS)
      }
      if (pauseMs > 0) await pause(pauseMs)
    }
  }

  await Promise.all(Array.from({ length: CLIENTS }, client))
  agent.destroy()
  return record
}

interface Load {
  readonly record: ServiceRecord
  /** Resolves when everything that was started is answered. */
  stop(): Promise<void>
}

/** Sends messages until it is stopped. */
export function startLoad(instances: () => readonly Instance[], { pauseMs = 40, prefix = '' } = {}): Load {
  const record = newRecord()
  let stopped = false
  async function run(): Promise<void> {
    for (let round = 0; !stopped; round += 1)
      await sendAll(shuffledCallbacks(MESSAGES_A_ROUND, `${prefix}r${round}-`), { instances, pauseMs, record })
  }
  const running = run()
  return {
    record,
    async stop() {
      stopped = true
      await running
    },
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
