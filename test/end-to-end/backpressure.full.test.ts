/** Handlers slower than arrivals: answers do not wait for handlers, and the backlog is in the store, not in the process. */
import net from 'node:net'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { AUTH_KEY, dispatchedEvents, megabytes, startInboxApp, type Memory } from './inbox-app.ts'
import { ownFolder } from '../support/own-folder.ts'

const MESSAGES = Number(process.env['EVENTS'] ?? '12000') >= 100_000 ? 30_000 : 1_000
const STATES = ['sent', 'delivered', 'read'] as const
const CONNECTIONS = 16

/** Sends each message's callbacks one after the other, over separate connections; returns the times of the answers. */
async function sendAll(url: string, prefix: string): Promise<readonly number[]> {
  const times: number[] = []
  let next = 0
  async function connection(): Promise<void> {
    const { hostname, port } = new URL(url)
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
    while (next < MESSAGES) {
      const messageId = `${prefix}${(next += 1)}`
      for (const status of STATES) {
        const report = callback.chatApp({ statuses: { message_id: messageId, status } })
        const body = JSON.stringify({ ...report, authKey: AUTH_KEY })
        const beganMs = performance.now()
        const answered = new Promise<string>((resolve, reject) => {
          socket.once('data', (chunk) => resolve(chunk.toString('latin1')))
          socket.once('error', reject)
        })
        socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
        expect(await answered).toMatch(/^HTTP\/1\.1 204 /)
        socket.removeAllListeners('error')
        times.push(performance.now() - beganMs)
      }
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, connection))
  return times.toSorted((a, b) => a - b)
}

test('a growing backlog slows no answer down and does not grow the process', { timeout: 600_000 }, async () => {
  const folder = ownFolder()
  const app = await startInboxApp({ folder, synchronous: 'NORMAL', concurrency: 16 })
  await sendAll(app.url, 'warm')
  expect(await app.ask({ ask: 'drain', deadlineMs: 200_000 })).toBe(true)
  const fast = await sendAll(app.url, 'fast')
  expect(await app.ask({ ask: 'drain', deadlineMs: 200_000 })).toBe(true)
  const before = await app.ask<Memory>({ ask: 'memory' })

  await app.ask({ ask: 'behave', slowMs: 1_000 })
  const slow = await sendAll(app.url, 'slow')
  const { unsettled } = await app.ask<{ unsettled: number }>({ ask: 'stats' })
  const during = await app.ask<Memory>({ ask: 'memory' })
  const p99 = (times: readonly number[]): number => times[Math.floor(times.length * 0.99)] ?? NaN
  console.log(
    `${unsettled} events wait: p99 of the answers ${p99(slow).toFixed(1)} ms, compared with ${p99(fast).toFixed(1)} ms with ` +
      `fast handlers; heap ${megabytes(before.heap)}, later ${megabytes(during.heap)}, store's thread ` +
      `${megabytes(before.threadHeap)}, later ${megabytes(during.threadHeap)}`,
  )
  // All are answered while most of them wait, so no answer waited for a handler.
  expect(unsettled).toBeGreaterThan((MESSAGES * STATES.length) / 2)
  // In the process, bodies and records alone would take more than a kilobyte per event.
  expect(during.heap + during.threadHeap - before.heap - before.threadHeap).toBeLessThan(2e6 + unsettled * 100)

  await app.ask({ ask: 'behave', slowMs: 0 })
  expect(await app.ask({ ask: 'drain', deadlineMs: 300_000 })).toBe(true)
  const given = new Map<string, string>()
  for (const { messageId, status } of dispatchedEvents(folder))
    given.set(messageId, `${given.get(messageId) ?? ''} ${status}`)
  expect(given.size).toBe(3 * MESSAGES)
  expect(new Set(given.values())).toEqual(new Set([' sent delivered read']))
})
