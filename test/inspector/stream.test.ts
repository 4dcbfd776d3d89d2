/** What pages that are open are told of, and what that costs: nothing for none. */
import { memoryStore, type Store } from 'messaging-webhooks'
import type { Authorized, Inspector } from 'messaging-webhooks/inspector'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { post } from '../support/receiving.ts'
import { as, inspecting } from './inspecting.ts'
import type { Change } from '../../src/inspector/shapes.ts'

/** Listens until the test ends. */
async function listening(origin: string) {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const response = await fetch(`${origin}/look/api/stream`, { signal: stop.signal })
  const changes: Change[] = []
  let isOver = false
  async function read(): Promise<void> {
    let text = ''
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece as Uint8Array).toString('utf8')
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const data = /^event: change\ndata: (.*)$/.exec(event)?.[1]
        if (data !== undefined) changes.push(as<Change>(JSON.parse(data)))
      }
    }
    isOver = true
  }
  read().catch(() => {
    isOver = true
  })
  return { response, changes, stop: () => stop.abort(), isOver: () => isOver }
}

/** A store that counts how often it is asked how much it holds. */
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

test('each open page is told of what changed, by one question to the store for all of them', async () => {
  const { store, asked } = counting()
  const clock = fakeClock(Date.now())
  const { origin, status } = await inspecting({ store, clock })
  const pages = await Promise.all([listening(origin), listening(origin)])
  expect(pages[0].response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  await post(status, { messageId: 'm-1', status: 'delivered' })
  const before = asked()
  await clock.advance(1_000)
  for (const { changes } of pages)
    await expect.poll(() => changes.at(-1)).toMatchObject({ counts: { taken: 1 }, messages: ['m-1'], many: false })
  expect(pages[0].changes.at(-1)?.events).toHaveLength(1)
  expect(asked()).toBe(before + 1)
  // The same is not said twice.
  await clock.advance(5_000)
  expect(pages[0].changes.filter(({ counts }) => counts.taken === 1)).toHaveLength(pages[0].changes.length)
})

test('with nobody listening, or nobody any more, the store is asked nothing', async () => {
  const { store, asked } = counting()
  const clock = fakeClock(Date.now())
  const { origin } = await inspecting({ store, clock })
  await clock.advance(5_000)
  expect(asked()).toBe(0)
  const page = await listening(origin)
  await clock.advance(1_000)
  await expect.poll(() => page.changes.length).toBe(1)
  page.stop()
  await expect.poll(page.isOver).toBe(true)
  // Until the server has seen it go.
  await expect
    .poll(async () => {
      const before = asked()
      await clock.advance(5_000)
      return asked() - before
    })
    .toBe(0)
})

test('a receiver that closes ends them, and so its server can close', async () => {
  const { origin, receiver, server } = await inspecting()
  const page = await listening(origin)
  const closed = new Promise((resolve) => server.close(resolve))
  await receiver.close()
  await expect.poll(page.isOver).toBe(true)
  server.closeIdleConnections()
  await closed
})

/** As a page does that begins to read. */
async function reading(look: Inspector, init: RequestInit = {}) {
  const response = await look.fetch(new Request('http://host.example/look/api/stream', init))
  const reader = response.body?.getReader()
  if (response.status === 200) await reader?.read()
  return { status: response.status, end: () => reader?.cancel() }
}

test('more than a hundred pages are turned away', async () => {
  const { look } = await inspecting()
  const pages = []
  for (let count = 0; count < 101; count += 1) pages.push(await reading(look))
  expect(pages.map(({ status }) => status).filter((status) => status !== 200)).toEqual([503])
  for (const { end } of pages) await end()
  const again = await reading(look)
  expect(again.status).toBe(200)
  await again.end()
})

test('answers that nobody reads hold no place, nor do those of requests that were given up', async () => {
  const { look } = await inspecting()
  for (let count = 0; count < 150; count += 1)
    await look.fetch(new Request('http://host.example/look/api/stream', { signal: new AbortController().signal }))
  for (let count = 0; count < 150; count += 1) {
    const given = new AbortController()
    expect((await reading(look, { signal: given.signal })).status).toBe(200)
    given.abort()
  }
})

test('a page whose reader is let in no more, or may do something else, is ended within half a minute', async () => {
  const clock = fakeClock(Date.now())
  let rights: Authorized = ['write', 'reveal']
  let asked = 0
  const { origin } = await inspecting({ clock }, { authorize: () => ((asked += 1), rights) })
  const page = await listening(origin)
  expect(asked).toBe(1)
  await clock.advance(30_000)
  await expect.poll(() => asked).toBe(2)
  expect(page.isOver()).toBe(false)
  rights = 'read'
  await clock.advance(30_000)
  await expect.poll(page.isOver).toBe(true)
  const other = await listening(origin)
  rights = false
  await clock.advance(30_000)
  await expect.poll(other.isOver).toBe(true)
})
