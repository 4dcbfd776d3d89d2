/** Contract, service.md#what-the-service-does: transient failures of transactional sends are retried. */
import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { AT_ONCE, collecting, emulating, POLL, sendFrom } from './emulating.ts'

const START_MS = 1_700_000_000_000
const NETWORK = { ...AT_ONCE, delayMs: [100, 100] as const, retryDelayMs: 1_000 }

async function timed(network: object = {}) {
  const clock = fakeClock(START_MS)
  const { collected, callbackUrls } = await collecting()
  const emulating_ = await emulating({ callbackUrls }, { clock, network: { ...NETWORK, ...network } })
  return { ...emulating_, clock, statuses: () => collected.map(({ body }) => body['status']), collected }
}

describe('a transient failure', () => {
  test('of a transactional send is retried, and its final outcome is reported', async () => {
    const { endpoint, clock, statuses, collected } = await timed()
    await sendFrom(endpoint, { to: '999110000002', type: 'transactional' })
    await clock.advance(100 + 1_000 + 1_999)
    expect(statuses()).toEqual([])
    await clock.advance(1)
    await expect.poll(statuses, POLL).toEqual(['success'])
    expect(collected[0]?.body).toMatchObject({
      type: 'transactionalDelivery',
      timestamp: Math.floor((START_MS + 3_100) / 1_000),
    })
  })

  test('that persists is reported once the retries are used up', async () => {
    const { endpoint, clock, statuses } = await timed()
    await sendFrom(endpoint, { to: '999100001001', type: 'transactional' })
    await clock.advance(100 + 1_000 + 2_000 + 3_999)
    expect(statuses()).toEqual([])
    await clock.advance(1)
    await expect.poll(statuses, POLL).toEqual(['network_failure'])
  })

  test('of any other send is reported at once', async () => {
    const { endpoint, clock, statuses, emulator } = await timed()
    await sendFrom(endpoint, { to: '999110000001' })
    await clock.advance(100)
    await expect.poll(statuses, POLL).toEqual(['network_failure'])
    expect(await emulator.idle({ deadlineMs: 60_000 })).toBe(true)
  })
})

test.each(['999100000021', '999400000018'])(
  'a permanent failure of a transactional send surfaces at once: %s',
  async (to) => {
    const { endpoint, clock, statuses } = await timed()
    await sendFrom(endpoint, { to, type: 'transactional' })
    await clock.advance(100)
    await expect.poll(statuses, POLL).toHaveLength(1)
  },
)

test('transactional sends go first', async () => {
  const { endpoint, clock, collected } = await timed({ delayMs: [100, 60_000] })
  await sendFrom(endpoint, { to: Array.from({ length: 20 }, () => '999100000000') })
  await sendFrom(endpoint, { to: '999100000000', type: 'transactional' })
  await clock.advance(100)
  await expect.poll(() => collected.map(({ body }) => body['type']), POLL).toEqual(['transactionalDelivery'])
  await clock.advance(59_900)
  await expect.poll(() => collected.length, POLL).toBe(21)
})

test('a scheduled message begins at its time, and not before', async () => {
  const { endpoint, clock, statuses } = await timed()
  // Further off than a timer can be set.
  const days = 40
  await sendFrom(endpoint, { to: '999100000000', scheduledFor: START_MS / 1_000 + days * 86_400 })
  await clock.advance(days * 86_400_000 + 99)
  expect(statuses()).toEqual([])
  await clock.advance(1)
  await expect.poll(statuses, POLL).toEqual(['success'])
})

test('reports the states of a chat-app message one after another', async () => {
  const { endpoint, clock, collected } = await timed()
  await sendFrom(endpoint, { to: '999300000001', channel: 'chat-app' })
  const words = () => collected.map(({ body }) => (body['statuses'] as { status: string }).status)
  for (const expected of [['sent'], ['sent', 'delivered'], ['sent', 'delivered', 'read']]) {
    await clock.advance(100)
    await expect.poll(words, POLL).toEqual(expected)
  }
})

test('idle reports pending callbacks, and close drops them', async () => {
  const { endpoint, emulator, clock, statuses } = await timed()
  await sendFrom(endpoint, { to: '999100000000' })
  const waiting = emulator.idle({ deadlineMs: 50 })
  await clock.advance(50)
  expect(await waiting).toBe(false)
  await emulator.close()
  await clock.advance(10_000)
  expect(await emulator.idle()).toBe(true)
  expect(statuses()).toEqual([])
  expect(emulator.deliveries()).toEqual([])
})
