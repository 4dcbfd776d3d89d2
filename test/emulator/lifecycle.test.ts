/** Contract, service.md#what-the-service-does: transient failures of transactional sends are retried. */
import { expect, test } from 'vitest'
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

const transactional = { type: 'transactional' }
const DAY_MS = 86_400_000
/** Further off than a timer can be set. */
const LATER_MS = 40 * DAY_MS

test.each<readonly [what: string, fields: object, afterMs: number, status: string]>([
  [
    'a success after a transient failure of a transactional send',
    { to: '999110000002', ...transactional },
    3_100,
    'success',
  ],
  [
    'a failure that persists until its retries are used up',
    { to: '999100001001', ...transactional },
    7_100,
    'network_failure',
  ],
  ['a transient failure of any other send', { to: '999110000001' }, 100, 'network_failure'],
  ['a permanent failure', { to: '999100000021', ...transactional }, 100, 'delivery_impossible'],
  ['a recipient who opted out', { to: '999400000018', ...transactional }, 100, 'stopped_by_user'],
  [
    'a scheduled message',
    { to: '999100000000', scheduledFor: (START_MS + LATER_MS) / 1_000 },
    LATER_MS + 100,
    'success',
  ],
])('reports %s at its time, and not before', async (_, fields, afterMs, status) => {
  const { endpoint, clock, statuses, collected } = await timed()
  await sendFrom(endpoint, { ...fields })
  await clock.advance(afterMs - 1)
  expect(statuses()).toEqual([])
  await clock.advance(1)
  await expect.poll(statuses, POLL).toEqual([status])
  expect(collected[0]?.body['timestamp']).toBe(Math.floor((START_MS + afterMs) / 1_000))
})

test('transactional sends go first', async () => {
  const { endpoint, clock, collected } = await timed({ delayMs: [100, 60_000] })
  await sendFrom(endpoint, { to: Array.from({ length: 20 }, () => '999100000000') })
  await sendFrom(endpoint, { to: '999100000000', type: 'transactional' })
  await clock.advance(100)
  await expect.poll(() => collected.map(({ body }) => body['type']), POLL).toEqual(['transactionalDelivery'])
  await clock.advance(59_900)
  await expect.poll(() => collected.length, POLL).toBe(21)
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
