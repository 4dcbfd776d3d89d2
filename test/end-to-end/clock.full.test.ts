/** Sets the machine's clock between runs or during one: no event is stuck, and none is lost. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { dispatchedEvents, startInboxApp, type DeadLetterPage, type InboxApp } from './inbox-app.ts'
import { ownFolder } from '../support/own-folder.ts'

const HOUR_MS = 3_600_000
const SETTINGS = {
  retry: { attempts: 2, initialDelayMs: 2_000, maxDelayMs: 2_000 },
  concurrency: 4,
  handlerTimeoutMs: 1_000,
  gapTimeoutMs: 2_000,
}

const chatApp = (messageId: string, status: string): object =>
  callback.chatApp({ statuses: { message_id: messageId, status } })

/** Ends with one dead letter, and with retries, reorder waits, leases and new events pending when the process is killed. */
async function leaveWork(app: InboxApp): Promise<readonly string[]> {
  await app.post(chatApp('poison', 'sent'))
  await expect.poll(() => app.ask({ ask: 'stats' }), { timeout: 30_000 }).toMatchObject({ deadLetters: 1 })
  const names: string[] = []
  async function send(messageId: string, status: string): Promise<void> {
    expect(await app.post(chatApp(messageId, status))).toBe(204)
    names.push(`${messageId} ${status}`)
  }
  for (const messageId of ['flaky-1', 'flaky-2', 'flaky-3']) await send(messageId, 'sent')
  await expect.poll(() => app.ask({ ask: 'stats' })).toMatchObject({ running: 0 })
  for (const messageId of ['gap-1', 'gap-2']) await send(messageId, 'read')
  for (let nth = 1; nth <= 10; nth += 1) await send(`held-${nth}`, 'sent')
  return names
}

test.for([
  ['back', -HOUR_MS],
  ['forward', HOUR_MS],
] as const)(
  'setting the clock %s by an hour between two runs loses no event',
  { timeout: 90_000 },
  async ([, clockOffsetMs]) => {
    const folder = ownFolder()
    const first = await startInboxApp({ folder, ...SETTINGS, holds: true })
    const names = await leaveWork(first)
    await first.kill()

    const second = await startInboxApp({ folder, ...SETTINGS, cured: true, clockOffsetMs })
    expect(await second.post(chatApp('new', 'sent'))).toBe(204)
    expect(await second.ask({ ask: 'drain', deadlineMs: 60_000 })).toBe(true)
    const given = new Set(dispatchedEvents(folder).map(({ messageId, status }) => `${messageId} ${status}`))
    expect([...names, 'new sent'].filter((name) => !given.has(name))).toEqual([])
    const { items } = await second.ask<DeadLetterPage>({ ask: 'deadLetters', page: { limit: 10 } })
    expect(items).toHaveLength(1)
    expect(await second.ask({ ask: 'replay', id: items[0]?.id ?? '', force: false })).toBe(true)
    expect(await second.ask({ ask: 'drain', deadlineMs: 15_000 })).toBe(true)
    expect(dispatchedEvents(folder).at(-1)).toMatchObject({ messageId: 'poison', replay: true })
  },
)
