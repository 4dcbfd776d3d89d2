/** When a store notifies the other processes of an admission. */
import { expect, test } from 'vitest'
import { createNotifier } from '../../../src/stores/postgres/notifications.ts'
import { fakeClock } from '../../support/fake-clock.ts'

/** Longer than a process has to claim what it admitted. */
const WHILE_MS = 50

function fresh() {
  const clock = fakeClock()
  let notified = 0
  const answers: (() => void)[] = []
  const notifier = createNotifier(clock, () => {
    notified += 1
    return new Promise<void>((resolve) => answers.push(resolve))
  })
  return { clock, notifier, notified: () => notified, answer: () => answers.shift()?.() }
}

test('notifies no other process of what a local claim took', async () => {
  const { clock, notifier, notified } = fresh()
  notifier.notifyOfRemaining()
  const noneLeft = notifier.claiming()
  noneLeft()
  await clock.advance(WHILE_MS)
  expect(notified()).toBe(0)
})

test('notifies once of what no claim took', async () => {
  const { clock, notifier, notified, answer } = fresh()
  for (let batch = 0; batch < 5; batch += 1) notifier.notifyOfRemaining()
  // Some events are left.
  notifier.claiming()
  expect(notified()).toBe(0)
  await clock.advance(WHILE_MS)
  answer()
  await clock.advance(WHILE_MS)
  expect(notified()).toBe(1)
})

test('a claim that began before an admission says nothing about it', async () => {
  const { clock, notifier, notified } = fresh()
  notifier.notifyOfRemaining()
  const noneLeft = notifier.claiming()
  notifier.notifyOfRemaining()
  noneLeft()
  await clock.advance(WHILE_MS)
  expect(notified()).toBe(1)
})

test('admissions during a notification lead to another notification', async () => {
  const { notifier, notified, answer } = fresh()
  notifier.notify()
  notifier.notify()
  notifier.notify()
  expect(notified()).toBe(1)
  answer()
  await expect.poll(notified).toBe(2)
  answer()
  await new Promise((resolve) => setImmediate(resolve))
  expect(notified()).toBe(2)
})

test('stopping notifies at once of what is left, and not afterwards', async () => {
  const { clock, notifier, notified, answer } = fresh()
  notifier.notifyOfRemaining()
  const stopped = notifier.stop()
  expect(notified()).toBe(1)
  answer()
  await stopped
  await clock.advance(WHILE_MS)
  expect(notified()).toBe(1)
})
