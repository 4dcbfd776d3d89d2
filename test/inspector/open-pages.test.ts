/** Open pages learn of changes by polling their session; the cost without open pages is zero. */
import { memoryStore, type Store } from 'messaging-webhooks'
import type { Authorized } from 'messaging-webhooks/inspector'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import type { Session } from '../../src/inspector/routes.ts'

/** A store that counts queries for its totals. */
function counting(): { readonly store: Store; readonly asked: () => number } {
  const { capabilities, open } = memoryStore()
  let asked = 0
  return {
    asked: () => asked,
    store: {
      capabilities,
      async open(host) {
        const opened = await open(host)
        return {
          ...opened,
          counts() {
            asked += 1
            return opened.counts()
          },
        }
      },
    },
  }
}

test('each open page learns of a change, with one query to the store for all of them', async () => {
  const { store, asked } = counting()
  const clock = fakeClock(Date.now())
  const { get, status } = await inspecting({ store, clock })
  const pages = async () => {
    const answers = await Promise.all([1, 2, 3].map(() => get('api/session')))
    return answers.map(({ body }) => as<Session>(body))
  }
  const [before] = await pages()
  await post(status, { messageId: 'm-1', status: 'delivered' })
  await clock.advance(2_000)
  const count = asked()
  const after = await pages()
  expect(asked()).toBe(count + 1)
  expect(new Set(after.map(({ changes }) => changes)).size).toBe(1)
  expect(after[0]?.changes).not.toBe(before?.changes)
  await clock.advance(2_000)
  expect((await pages())[0]?.changes).toBe(after[0]?.changes)
})

test('does not query the store without an open page', async () => {
  const { store, asked } = counting()
  const clock = fakeClock(Date.now())
  const { get } = await inspecting({ store, clock })
  await clock.advance(60_000)
  expect(asked()).toBe(0)
  await get('api/session')
  const before = asked()
  await clock.advance(60_000)
  expect(asked()).toBe(before)
})

test('each request of an open page calls `authorize`', async () => {
  let rights: Authorized = ['write', 'reveal']
  const { get } = await inspecting({}, { authorize: () => rights })
  const session = async () => as<Session>((await get('api/session')).body)
  expect((await session()).may).toEqual({ write: true, reveal: true })
  rights = 'read'
  expect((await session()).may).toEqual({ write: false, reveal: false })
  rights = false
  expect((await get('api/session')).status).toBe(403)
})
