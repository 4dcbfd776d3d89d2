/** User code may change the objects that it gets: stored callbacks, and what other code gets, stay unchanged. */
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { unhandledRejections, untilRejectionsReported } from '../support/hostile.ts'
import { post, receiving } from '../support/receiving.ts'
import { onEachStore } from '../support/each-store.ts'

const failedReport = callback.smsDelivery({ messageId: 'm-1', status: 'failed', network: 'carrier-b' })

/** Empties the value with everything inside it, bytes and lists included. */
function corrupt(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (value instanceof Uint8Array) {
    value.fill(0)
    return
  }
  if (Array.isArray(value)) {
    for (const item of value.splice(0)) corrupt(item)
    return
  }
  for (const name of Object.getOwnPropertyNames(value)) {
    corrupt(Reflect.get(value, name))
    if (Reflect.set(value, name, Symbol('corrupted'))) Reflect.deleteProperty(value, name)
  }
  if (value instanceof Date) value.setTime(Number.NaN)
}

describe.each(onEachStore)('with %s', (_name, makeStore) => {
  test('a handler that corrupts its event corrupts neither the next attempt nor what errors and other handlers receive', async () => {
    const unhandled = unhandledRejections()
    const { receiver, url, errors } = await receiving({
      store: makeStore(),
      retry: { attempts: 3, initialDelayMs: 0 },
    })
    const shown: string[] = []
    receiver.onAny((event) => {
      shown.push(JSON.stringify(event) + event.raw.toString())
      corrupt(event)
      throw new Error('again')
    })
    expect((await post(url, failedReport)).status).toBe(204)
    await expect.poll(async () => (await receiver.stats()).deadLetters, { timeout: 30_000 }).toBe(1)
    expect(new Set(shown).size).toBe(1)
    expect(shown).toHaveLength(3)
    const about = { eventType: 'message.failed', eventId: expect.stringMatching(/^[0-9a-f]{32}$/) as string }
    expect(errors).toMatchObject([
      ...Array<object>(3).fill({ code: 'handler_failed', ...about }),
      { code: 'dead_letter', ...about },
    ])

    const [letter] = (await receiver.deadLetters.list()).items
    const before = JSON.stringify(letter?.event)
    corrupt(letter?.event)
    expect(JSON.stringify((await receiver.deadLetters.list()).items[0]?.event)).toBe(before)
    const latest = await receiver.messageState('m-1')
    expect(latest).toMatchObject({ type: 'message.failed', failure: { resend: false } })
    corrupt(latest)
    expect(await receiver.messageState('m-1')).toMatchObject({ type: 'message.failed', failure: { resend: false } })
    expect(await receiver.deadLetters.replay(letter?.id ?? '')).toBe(true)
    await expect.poll(() => shown.length, { timeout: 30_000 }).toBe(6)
    expect(new Set(shown).size).toBe(1)
    await untilRejectionsReported()
    expect(unhandled).toEqual([])
  })

  test('dedupeKey may corrupt its argument, then and later', async () => {
    const seen: { readonly raw: Buffer }[] = []
    const { receiver, url } = await receiving({
      store: makeStore(),
      retry: { attempts: 2, initialDelayMs: 0 },
      dedupeKey(input) {
        seen.push(input)
        input.raw.fill(0)
        return undefined
      },
    })
    const shown: unknown[] = []
    receiver.onAny((event, { attempt }) => {
      for (const { raw } of seen) raw.fill(1)
      shown.push(event.payload)
      if (attempt === 1) throw new Error('again')
    })
    expect((await post(url, failedReport)).status).toBe(204)
    expect(await receiver.drain()).toBe(true)
    expect(shown).toEqual([failedReport, failedReport])
  })
})

test('what quarantine lists of a request may be corrupted, and the right key still proves it', async () => {
  let known = false
  const { receiver, url } = await receiving({
    credentials: () => (known ? { signingSecret: 'signing-secret-of-the-tests' } : undefined),
  })
  const dispatched: unknown[] = []
  receiver.onAny(({ payload }) => void dispatched.push(payload))
  expect((await post(url, failedReport)).status).toBe(401)
  const { items } = await receiver.quarantine.list({ reveal: true })
  expect(items).toHaveLength(1)
  corrupt(items)
  known = true
  await expect.poll(() => receiver.quarantine.reverify(), { timeout: 30_000 }).toMatchObject({ admitted: 1 })
  await receiver.drain()
  expect(dispatched).toEqual([failedReport])
})

test('a handler of onError may corrupt the error, and other errors of the same event are unaffected', async () => {
  const unhandled = unhandledRejections()
  const { receiver, url } = await receiving({ retry: { attempts: 1 } })
  const codes: unknown[] = []
  receiver.onError((error) => {
    codes.push(error.code)
    corrupt(error)
  })
  receiver.onAny(() => {
    throw new Error('once')
  })
  expect((await post(url, failedReport)).status).toBe(204)
  await expect.poll(async () => (await receiver.stats()).deadLetters, { timeout: 30_000 }).toBe(1)
  expect(codes).toEqual(['handler_failed', 'dead_letter'])
  expect((await receiver.deadLetters.list()).items).toMatchObject([
    { error: expect.any(String) as string, attempts: 1 },
  ])
  await untilRejectionsReported()
  expect(unhandled).toEqual([])
})
