/** A store that answers later than the receiver expects. */
import { createReceiver } from 'messaging-webhooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { gate } from '../support/gate.ts'
import { brokenStore, withoutLeases } from '../support/stores.ts'

const AUTH_KEY = 'a-key-of-this-test'

function send(receiver: ReturnType<typeof createReceiver>, messageId: string) {
  const body = Buffer.from(JSON.stringify({ authKey: AUTH_KEY, messageId, status: 'success' }))
  return receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
}

test('does not run what a claim returns after close() abandoned it', async () => {
  let answer = (): void => {}
  const { capabilities, open } = brokenStore({
    admit: withoutLeases,
    async lease(_, go) {
      await new Promise<void>((resolve) => (answer = resolve))
      return go()
    },
  })
  // Otherwise the receiver would report what it loses.
  const store = { capabilities: { ...capabilities, durable: true, shared: true }, open }
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY }, store, spool: false, logger: false })
  const handled: string[] = []
  receiver.onAny(({ id }) => void handled.push(id))
  await receiver.start()
  expect((await send(receiver, 'm-1')).status).toBe(204)
  await sleep(20)
  await receiver.close({ deadlineMs: 50 })
  answer()
  await sleep(50)
  expect(handled).toEqual([])
})

test('does not wait again for an attempt that ended before its admission was answered', async () => {
  const store = brokenStore({
    async admit(commands, go) {
      const isSlow = commands.some(({ event }) => event.record.report?.messageId === 'slow')
      const answers = await withoutLeases(commands, go)
      if (isSlow) await sleep(300)
      return answers
    },
  })
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY },
    store,
    spool: false,
    logger: false,
    answer: 'handled',
    // Longer than the test may take, so waiting for it would fail the test.
    handlerTimeoutMs: 600_000,
  })
  const handled: (string | undefined)[] = []
  receiver.on('message.delivered', async ({ messageId }) => {
    if (messageId === 'first') await sleep(100)
    handled.push(messageId)
  })
  await receiver.start()
  const first = send(receiver, 'first')
  await sleep(20)
  // The end of the first attempt claims it.
  expect((await send(receiver, 'slow')).status).toBe(204)
  expect((await first).status).toBe(204)
  expect(handled).toEqual(['first', 'slow'])
  await receiver.close()
})

test('answers two simultaneous repetitions when the attempt is over', async () => {
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY },
    logger: false,
    answer: 'handled',
    handlerTimeoutMs: 600_000,
  })
  receiver.onAny(() => sleep(50))
  const answers = await Promise.all([send(receiver, 'm-1'), send(receiver, 'm-1'), send(receiver, 'm-1')])
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
  await receiver.close()
})

test('runs what a claim has leased although its search for more is not answered', async () => {
  const { open: answerMore, opened } = gate()
  let searches = 0
  const store = brokenStore({
    admit: withoutLeases,
    async due(request, go) {
      if (request.of !== 'events') return go()
      const due = await go()
      if (due.keys.length > 0) return { ...due, nextInMs: 0 }
      searches += 1
      if (searches > 1) await opened
      return due
    },
  })
  const receiver = createReceiver({ credentials: { authKey: AUTH_KEY }, store, spool: false, logger: false })
  const handled: (string | undefined)[] = []
  receiver.on('message.delivered', ({ messageId }) => void handled.push(messageId))
  await receiver.start()
  await expect.poll(() => searches).toBe(1)
  expect((await send(receiver, 'm-1')).status).toBe(204)
  await expect.poll(() => handled).toEqual(['m-1'])
  expect(searches).toBe(2)
  answerMore()
  await receiver.close()
})
