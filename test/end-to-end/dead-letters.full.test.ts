/** Events that no handler accepts, on a disk: they outlive the process, and so does their attempt count. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { dispatchedEvents, startInboxApp, type DeadLetterPage, type InboxApp } from './inbox-app.ts'
import { ownFolder } from '../support/own-folder.ts'

const RETRY = { attempts: 3, initialDelayMs: 20, maxDelayMs: 20 }
const POISONED = ['poison-a', 'poison-b', 'poison-c', 'poison-d', 'poison-e']

const chatApp = (messageId: string, status: string): object =>
  callback.chatApp({ statuses: { message_id: messageId, status } })

/** All dead letters, two per page. */
async function deadLetters(app: InboxApp): Promise<DeadLetterPage['items']> {
  const items = []
  for (let after: string | undefined; ;) {
    const page = { limit: 2, ...(after === undefined ? {} : { after }) }
    const found = await app.ask<DeadLetterPage>({ ask: 'deadLetters', page })
    expect(found.items.length).toBeLessThanOrEqual(2)
    items.push(...found.items)
    after = found.next
    if (after === undefined) return items
  }
}

test('a poisoned event is moved to the dead letters with its error, later ones go on, and a replay after a restart is late unless forced', async () => {
  const folder = ownFolder()
  const first = await startInboxApp({ folder, retry: RETRY, handlerTimeoutMs: 2_000 })
  for (const messageId of POISONED)
    for (const status of ['sent', 'delivered']) expect(await first.post(chatApp(messageId, status))).toBe(204)
  expect(await first.ask({ ask: 'drain', deadlineMs: 15_000 })).toBe(true)
  await first.kill()
  const tried = dispatchedEvents(folder)
  for (const messageId of POISONED)
    expect(tried.filter((given) => given.messageId === messageId)).toEqual([
      ...[1, 2, 3].map((attempt) => ({ messageId, status: 'sent', type: 'message.sent', attempt, replay: false })),
      { messageId, status: 'delivered', type: 'message.delivered', attempt: 1, replay: false },
    ])

  const second = await startInboxApp({ folder, retry: RETRY, cured: true })
  expect(await second.ask({ ask: 'stats' })).toMatchObject({ unsettled: 0, deadLetters: POISONED.length })
  const letters = await deadLetters(second)
  const name = ({ error }: DeadLetterPage['items'][number]): string => /poison-./.exec(error)?.[0] ?? ''
  expect(letters.map(name).toSorted()).toEqual(POISONED)
  for (const { attempts, error } of letters) {
    expect(attempts).toBe(3)
    expect(error).toMatch(/No cure for poison-.\.\n +at .*inbox-app\.ts/)
  }
  const [forced] = letters
  for (const { id } of letters) expect(await second.ask({ ask: 'replay', id, force: id === forced?.id })).toBe(true)
  expect(await second.ask({ ask: 'replay', id: forced?.id ?? '', force: false })).toBe(false)
  expect(await second.ask({ ask: 'drain', deadlineMs: 15_000 })).toBe(true)
  const replayed = dispatchedEvents(folder).slice(tried.length)
  expect(replayed).toHaveLength(POISONED.length)
  for (const letter of letters)
    expect(replayed).toContainEqual({
      messageId: name(letter),
      status: 'sent',
      type: letter === forced ? 'message.sent' : 'late',
      attempt: 1,
      replay: true,
    })
  expect(await second.ask({ ask: 'stats' })).toMatchObject({ unsettled: 0, deadLetters: 0 })
})

test('continues the attempt count of a killed process', async () => {
  const folder = ownFolder()
  const slowRetry = { attempts: 2, initialDelayMs: 1_000, maxDelayMs: 1_000 }
  const first = await startInboxApp({ folder, retry: slowRetry, handlerTimeoutMs: 1_000 })
  await first.post(chatApp('poison-r', 'sent'))
  await expect.poll(() => dispatchedEvents(folder).length, { timeout: 30_000 }).toBeGreaterThan(0)
  await expect.poll(() => first.ask({ ask: 'stats' }), { timeout: 30_000 }).toMatchObject({ running: 0 })
  await first.kill()
  const second = await startInboxApp({ folder, retry: slowRetry, handlerTimeoutMs: 1_000 })
  expect(await second.ask({ ask: 'drain', deadlineMs: 18_000 })).toBe(true)
  expect(dispatchedEvents(folder).map(({ attempt }) => attempt)).toEqual([1, 2])
  expect(await second.ask({ ask: 'stats' })).toMatchObject({ unsettled: 0, deadLetters: 1 })
})
