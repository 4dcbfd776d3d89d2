/** Handlers throw anything, or are cut off. It costs no event and no process, and is kept as a text of at most 8 KiB. */
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { HandlerError } from 'messaging-webhooks'
import { unhandledRejections } from '../support/hostile.ts'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'

test('awaits a return value that looks like a promise, or counts it as a failure', async () => {
  const { receiver, url } = await receiving({ retry: { attempts: 1 } })
  const thenables: readonly unknown[] = [
    { then: (resolve: () => void) => resolve() },
    {
      then: () => {
        throw new Error('no promise')
      },
    },
    { then: 'soon' },
    7,
  ]
  let index = 0
  receiver.onAny(() => thenables[index++])
  for (const _ of thenables) await post(url, callback.smsDelivery())
  await receiver.drain()
  const { items } = await receiver.deadLetters.list()
  expect(items.map(({ error }) => error)).toEqual([expect.stringContaining('no promise')])
})

test.each([
  ['once', (secret: string) => secret],
  ['again and again, across every cut', (secret: string) => secret.repeat(2_000)],
  ['at the cut', (secret: string) => `${'x'.repeat(8 * 1024 - 20)}${secret}`],
  [
    'at the first cut',
    (secret: string) =>
      `${(secret + ' ').repeat(300)}${'x'.repeat(16 * 1024 - 15 - 300 * (secret.length + 1))}${secret}`,
  ],
])('neither a key or secret that an error quotes %s is kept, nor a part of it', async (_where, quote) => {
  const { receiver, url } = await receiving({ retry: { attempts: 1 } })
  let secret = AUTH_KEY
  receiver.onAny(() => {
    throw new Error(quote(secret))
  })
  await post(url, callback.smsDelivery())
  await receiver.drain()
  secret = SIGNING_SECRET
  await post(url, callback.smsDelivery())
  await receiver.drain()
  const { items } = await receiver.deadLetters.list()
  expect(items).toHaveLength(2)
  for (const { error } of items)
    for (const known of [AUTH_KEY, SIGNING_SECRET]) expect(error).not.toContain(known.slice(0, 8))
})

test('removes two secrets completely when one begins with the other', async () => {
  const credentials = [{ authKey: 'the-key' }, { authKey: 'the-key-and-more' }]
  const { receiver, url } = await receiving({ credentials, retry: { attempts: 1 } })
  receiver.onAny(() => {
    throw new Error('It said the-key-and-more.')
  })
  const body = JSON.stringify(callback.smsDelivery({ authKey: 'the-key' }))
  await fetch(url, { method: 'POST', body })
  await receiver.drain()
  expect((await receiver.deadLetters.list()).items[0]?.error).toContain('Error: It said [redacted].')
})

test('nothing that a handler does becomes an unhandled rejection', async () => {
  const unhandled = unhandledRejections()
  const { receiver, url } = await receiving({ handlerTimeoutMs: 10, retry: { attempts: 1 } })
  receiver.onError(() => Promise.reject(new Error('onError rejects')))
  receiver.onError(() => {
    throw new Error('onError throws')
  })
  receiver.onAny(async () => {
    await new Promise((resolve) => setTimeout(resolve, 40))
    throw new Error('after its time')
  })
  await post(url, callback.smsDelivery())
  expect(await receiver.drain()).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(unhandled).toEqual([])
  expect((await receiver.deadLetters.list()).items[0]?.error).toContain('after its time')
})

test('reports each handler that is cut off, with its event and its running time', async () => {
  const { receiver, url, server } = await receiving()
  const errors: Error[] = []
  receiver.onError((error) => void errors.push(error))
  let isAborted = false
  receiver.onAny(async (_, { signal }) => {
    signal.addEventListener('abort', () => (isAborted = true))
    await new Promise(() => {})
  })
  await post(url, callback.smsDelivery({ messageId: 'm-cut' }))
  await expect.poll(async () => (await receiver.stats()).running).toBe(1)
  server.closeAllConnections()
  server.close()
  await receiver.close({ deadlineMs: 20 })
  expect(isAborted).toBe(true)
  const [cut] = errors.filter((error) => error instanceof HandlerError)
  expect(cut).toMatchObject({ code: 'handler_cut_off', messageId: 'm-cut', attempt: 1 })
  expect(cut?.message).toMatch(/It had run for \d+ ms\./)
})
