/** Receivers that wait for signals share one listener of the process, and leave none behind. */
import { createReceiver, type Receiver } from 'messaging-webhooks'
import { expect, onTestFinished, test } from 'vitest'

function silent(): Receiver {
  return createReceiver({ credentials: { authKey: 'key-of-the-tests' }, logger: false })
}

test('any number of receivers adds one listener a signal, and the last close() removes it', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const listeners = () => ['SIGTERM', 'SIGUSR2'].map((signal) => process.listenerCount(signal))
  const before = listeners()
  const receivers = Array.from({ length: 12 }, silent)
  for (const receiver of receivers) receiver.closeOnSignal(['SIGTERM', 'SIGUSR2'])
  expect(listeners()).toEqual(before.map((count) => count + 1))
  const [last, ...others] = receivers
  await Promise.all(others.map((receiver) => receiver.close()))
  expect(listeners()).toEqual(before.map((count) => count + 1))
  await last?.close()
  expect(listeners()).toEqual(before)
  expect(warnings).toEqual([])
})

test('the returned function undoes its own call only', async () => {
  const receiver = silent()
  const before = process.listenerCount('SIGUSR2')
  const undoFirst = receiver.closeOnSignal('SIGUSR2')
  const undoSecond = receiver.closeOnSignal('SIGUSR2')
  undoFirst()
  undoFirst()
  expect(process.listenerCount('SIGUSR2')).toBe(before + 1)
  undoSecond()
  expect(process.listenerCount('SIGUSR2')).toBe(before)
  await receiver.close()
})
