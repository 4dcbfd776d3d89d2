/** A store outage logs its cause, and at its end its length and the number of spooled events. */
import { memoryStore } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { faultyStore, type Fault } from '../support/faulty-store.ts'
import { logging } from '../support/logging.ts'
import { AUTH_KEY, post, receiving } from '../support/receiving.ts'
import { ownFolder } from '../support/own-folder.ts'

const POLL = { timeout: 30_000 }

async function withSpool(spool: string | false = ownFolder(), fault: Fault = 'none') {
  const store = faultyStore(memoryStore())
  store.fault = fault
  const clock = fakeClock()
  const { logger, lines, of } = logging()
  const serving = await receiving({ store, clock, spool, logger })
  serving.receiver.onAny(() => {})
  await serving.receiver.start().catch(() => {})
  const send = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 1) await post(serving.url, callback.smsDelivery())
  }
  /** File writes take real time. */
  const until = (code: string) =>
    expect.poll(() => clock.advance(100).then(() => of(code).length), { ...POLL, interval: 1 }).toBe(1)
  return { ...serving, store, clock, lines, of, send, until }
}

test('logs the end of an outage, with its length and the events of the spool', async () => {
  const { store, clock, of, send, until } = await withSpool()
  store.fault = 'throws'
  await send(3)
  await clock.advance(60_000)
  expect(of('store_back')).toEqual([])
  store.fault = 'none'
  await until('store_back')
  const [line] = of('store_back')
  expect(line).toMatchObject({ level: 'warn', fields: { fromSpool: 3 } })
  expect(line?.fields['unavailableMs']).toBeGreaterThanOrEqual(60_000)
  expect(line?.text).toMatch(/^The store is back after \d+\.\d s\. Moved 3 events from the spool into the store\.$/)
})

test('logs the cause of an outage in one line, without keys and passwords', async () => {
  const { store, of, send } = await withSpool()
  store.fault = 'throws'
  store.says = `connect failed\n  at postgres://app:hunter2@db.example/app with ${AUTH_KEY}`
  await send(1)
  const [line] = of('store_outage')
  const cause = 'Error: connect failed at postgres://app:[redacted]@db.example/app with [redacted]'
  expect(line).toMatchObject({ level: 'error', fields: { cause } })
  expect(line?.text).toContain(` Cause: ${cause} See `)
})

async function leaveInSpool(folder: string, count: number): Promise<void> {
  const { store, clock, server, receiver, send } = await withSpool(folder)
  store.fault = 'throws'
  await send(count)
  server.closeAllConnections()
  server.close()
  const closed = receiver.close()
  await clock.advance(10_000)
  await closed
}

test('reports what an earlier process left in the spool, and not as an outage of this one', async () => {
  const folder = ownFolder()
  await leaveInSpool(folder, 2)
  const { of, until } = await withSpool(folder)
  await until('spool_emptied')
  expect(of('spool_emptied')).toMatchObject([{ level: 'info', fields: { fromSpool: 2 } }])
  expect(of('store_back')).toEqual([])
})

test('reports a store that is still unavailable after a restart again, even if callbacks wait in the spool', async () => {
  const folder = ownFolder()
  await leaveInSpool(folder, 2)
  const { store, clock, of, until, errors } = await withSpool(folder, 'will not open')
  await clock.advance(5_000)
  expect(errors.map(({ code }) => code)).toEqual(['store_outage'])
  store.fault = 'none'
  await until('store_back')
  expect(of('store_back')).toMatchObject([{ fields: { fromSpool: 2 } }])
})
