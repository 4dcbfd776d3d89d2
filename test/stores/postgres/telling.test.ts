/** When the other processes are told of what was admitted here. */
import { expect, test } from 'vitest'
import { createTelling } from '../../../src/stores/postgres/telling.ts'
import { fakeClock } from '../../support/fake-clock.ts'

/** More than a process has for taking what it admitted. */
const WHILE_MS = 50

function fresh() {
  const clock = fakeClock()
  let told = 0
  const answers: (() => void)[] = []
  const telling = createTelling(clock, () => {
    told += 1
    return new Promise<void>((resolve) => answers.push(resolve))
  })
  return { clock, telling, told: () => told, answer: () => answers.shift()?.() }
}

test('what a claim here took is told to no one', async () => {
  const { clock, telling, told } = fresh()
  telling.tellOfWhatIsLeft()
  const noneLeft = telling.claiming()
  noneLeft()
  await clock.advance(WHILE_MS)
  expect(told()).toBe(0)
})

test('what no claim took is told, once', async () => {
  const { clock, telling, told, answer } = fresh()
  for (let batch = 0; batch < 5; batch += 1) telling.tellOfWhatIsLeft()
  // Something was left.
  telling.claiming()
  expect(told()).toBe(0)
  await clock.advance(WHILE_MS)
  answer()
  await clock.advance(WHILE_MS)
  expect(told()).toBe(1)
})

test('a claim that began before an admission says nothing of it', async () => {
  const { clock, telling, told } = fresh()
  telling.tellOfWhatIsLeft()
  const noneLeft = telling.claiming()
  telling.tellOfWhatIsLeft()
  noneLeft()
  await clock.advance(WHILE_MS)
  expect(told()).toBe(1)
})

test('what came in while the others were told is told after that', async () => {
  const { telling, told, answer } = fresh()
  telling.tell()
  telling.tell()
  telling.tell()
  expect(told()).toBe(1)
  answer()
  await expect.poll(told).toBe(2)
  answer()
  await new Promise((resolve) => setImmediate(resolve))
  expect(told()).toBe(2)
})

test('what is left when it stops is told at once, and nothing after that', async () => {
  const { clock, telling, told, answer } = fresh()
  telling.tellOfWhatIsLeft()
  const stopped = telling.stop()
  expect(told()).toBe(1)
  answer()
  await stopped
  await clock.advance(WHILE_MS)
  expect(told()).toBe(1)
})
