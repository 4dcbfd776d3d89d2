import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { atRest, fakeClock } from '../support/fake-clock.ts'
import { post, receiving } from '../support/receiving.ts'
import { slowStore } from '../support/stores.ts'
import { gate } from '../support/gate.ts'

const chain = (messageId: string, timestamp: number): readonly Record<string, unknown>[] => [
  callback.smsDelivery({ messageId, status: 'queued', timestamp }),
  callback.smsDelivery({ messageId, status: 'network_failure', timestamp }),
  callback.smsDelivery({ messageId, status: 'success', timestamp }),
]

test.each(['memory', 'slow'])(
  'runs one event of a message at a time, and messages in parallel up to concurrency (%s)',
  async (kind) => {
    const store = kind === 'slow' ? { store: slowStore() } : {}
    const { receiver, url } = await receiving({ concurrency: 3, ...store })
    const running = new Map<string, number>()
    let most = 0
    const { open: begin, opened: allThere } = gate()
    let mostOfOne = 0
    receiver.on('message.*', async ({ messageId }) => {
      running.set(messageId, (running.get(messageId) ?? 0) + 1)
      const counts = [...running.values()]
      most = Math.max(
        most,
        counts.reduce((sum, count) => sum + count),
      )
      mostOfOne = Math.max(mostOfOne, ...counts)
      await allThere
      await atRest()
      running.set(messageId, (running.get(messageId) ?? 0) - 1)
    })
    const timestamp = Math.floor(Date.now() / 1_000)
    const bodies = Array.from({ length: 6 }, (_, index) => chain(`message-${index}`, timestamp)).flat()
    await Promise.all(bodies.map((body) => post(url, body)))
    begin()
    expect(await receiver.drain()).toBe(true)
    expect(mostOfOne).toBe(1)
    expect(most).toBe(3)
    expect(await receiver.stats()).toMatchObject({ running: 0, unsettled: 0 })
  },
)

describe('a handler that hangs', () => {
  async function hanging(concurrency: number) {
    const clock = fakeClock()
    const all = await receiving({ clock, concurrency, handlerTimeoutMs: 1_000 })
    const signals: AbortSignal[] = []
    const releases: ((error?: Error) => void)[] = []
    const handled: string[] = []
    all.receiver.on('message.*', ({ messageId, status }, { signal }) => {
      if (!messageId.startsWith('hung') || status !== 'queued') return void handled.push(`${messageId} ${status}`)
      signals.push(signal)
      return new Promise<void>((resolve, reject) =>
        releases.push((error) => (error === undefined ? resolve() : reject(error))),
      )
    })
    return { ...all, clock, signals, releases, handled, timestamp: Math.floor(clock.now() / 1_000) }
  }

  test('is aborted by its signal and delays no other message', async () => {
    const { receiver, url, clock, signals, handled, errors, timestamp } = await hanging(2)
    for (const messageId of ['hung-1', 'hung-2', 'hung-3'])
      await post(url, callback.smsDelivery({ messageId, status: 'queued', statusCode: 13, timestamp }))
    await post(url, callback.smsDelivery({ messageId: 'other' }))
    await clock.advance(999)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
    expect(handled).toEqual([])
    await clock.advance(1)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false])
    expect(handled).toEqual(['other success'])
    expect(errors).toMatchObject([{ code: 'handler_timeout' }, { code: 'handler_timeout' }])
    expect(errors[0]?.message).toContain('It ran longer than 1000 ms.')
    expect(signals[0]?.reason).toBe(errors[0])
    expect(await receiver.stats()).toMatchObject({ running: 1, unsettled: 3 })
  })

  test('blocks its message until it settles, even past its lease, and does not run twice meanwhile', async () => {
    const { receiver, url, clock, releases, handled, signals, timestamp } = await hanging(16)
    await post(url, callback.smsDelivery({ messageId: 'hung-1', status: 'queued', timestamp }))
    await clock.advance(0)
    await post(url, callback.smsDelivery({ messageId: 'hung-1', status: 'success', timestamp }))
    await clock.advance(3_600_000)
    expect(handled).toEqual([])
    expect(signals).toHaveLength(1)
    // Other messages come and go, and this message stays blocked.
    await post(url, callback.smsDelivery({ messageId: 'other' }), { timestamp: Math.floor(clock.now() / 1_000) })
    await clock.advance(0)
    expect(handled).toEqual(['other success'])
    releases[0]?.()
    await clock.advance(0)
    expect(handled).toEqual(['other success', 'hung-1 success'])
    expect(await receiver.stats()).toMatchObject({ running: 0, unsettled: 0 })
  })

  test('and then fails is retried', async () => {
    const { receiver, url, clock, releases, timestamp } = await hanging(16)
    await post(url, callback.smsDelivery({ messageId: 'hung-1', status: 'queued', timestamp }))
    await clock.advance(5_000)
    releases[0]?.(new Error('given up'))
    await clock.advance(5_000)
    expect(releases).toHaveLength(2)
    releases[1]?.()
    await clock.advance(0)
    expect(await receiver.stats()).toMatchObject({ unsettled: 0, deadLetters: 0 })
  })

  test('leaves the handlers after it to the next attempt, which does not run it again', async () => {
    const { receiver, url, clock, releases, timestamp, signals } = await hanging(16)
    const attempts: number[] = []
    receiver.onAny((_event, { attempt }) => void attempts.push(attempt))
    await post(url, callback.smsDelivery({ messageId: 'hung-1', status: 'queued', timestamp }))
    await clock.advance(1_000)
    expect(attempts).toEqual([])
    releases[0]?.()
    await clock.advance(0)
    expect(attempts).toEqual([2])
    expect(signals).toHaveLength(1)
    expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
  })
})

test('an event with several slow handlers does not run a second time meanwhile', async () => {
  const clock = fakeClock()
  const { receiver, url, errors } = await receiving({ clock, handlerTimeoutMs: 60_000 })
  const calls: string[] = []
  for (const name of ['one', 'two', 'three'])
    receiver.onAny(async (_event, { attempt }) => {
      calls.push(`${name} ${attempt}`)
      await new Promise<void>((resolve) => clock.setTimer(resolve, 50_000))
    })
  await post(url, callback.smsDelivery())
  await clock.advance(200_000)
  expect(calls).toEqual(['one 1', 'two 1', 'three 1'])
  expect(errors).toEqual([])
  await atRest()
  expect(await receiver.stats()).toMatchObject({ unsettled: 0 })
})
