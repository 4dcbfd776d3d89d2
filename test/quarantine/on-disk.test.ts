/** The quarantine outlives its receiver: what is on the disk, when it is removed, and which disk faults it survives. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore, type CredentialPair, type WebhookEvent } from 'messaging-webhooks'
import type { OptionsOfOneProject, OtherOptions } from '../../src/receiver/options.ts'
import { callback, signCallback } from 'messaging-webhooks/testing'
import { expect, test, vi } from 'vitest'
import { fakeClock, isFakeClock } from '../support/fake-clock.ts'
import { A, B, send } from '../support/pairs.ts'
import { receiving } from '../support/receiving.ts'
import { ownFolder } from '../support/own-folder.ts'

const HOUR_MS = 3_600_000

function emptyFolder(): string {
  return join(ownFolder(), 'kept')
}

/** A receiver on this folder, with the wrong pair until `correctPair()`. */
async function keeping(folder: string, options: OtherOptions & Partial<OptionsOfOneProject> = {}) {
  let pair: CredentialPair = B
  const warned: object[] = []
  const service = await receiving({
    credentials: () => pair,
    logger: { debug() {}, info() {}, warn: (fields) => void warned.push(fields), error() {} },
    ...options,
    quarantine: { folder, ...(options.quarantine === false ? {} : options.quarantine) },
  })
  const events: WebhookEvent[] = []
  service.receiver.onAny((event) => void events.push(event))
  await service.receiver.start()
  const { quarantine } = service.receiver
  async function close(): Promise<void> {
    service.server.closeAllConnections()
    service.server.close()
    const closed = service.receiver.close({ deadlineMs: 100 })
    const isDone = closed.then(() => true)
    if (isFakeClock(options.clock)) {
      const { clock } = options
      // Slower than the disk, which does not use this clock.
      const tick = (): Promise<false> =>
        new Promise((resolve) => setTimeout(() => void clock.advance(1).then(() => resolve(false)), 2))
      while (!(await Promise.race([isDone, tick()]))) continue
    }
    await closed
  }
  return { ...service, quarantine, events, warned, close, correctPair: () => void (pair = A) }
}

/** Everything in the folder. */
function textIn(folder: string): string {
  if (!existsSync(folder)) return ''
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'))
  return names.map((name) => readFileSync(join(folder, name), 'latin1')).join('')
}

const until = (check: () => unknown): Promise<unknown> => vi.waitFor(check, { timeout: 30_000, interval: 10 })

test('the next process verifies again, by itself, what could not be looked up', async () => {
  const folder = emptyFolder()
  const failing = await keeping(folder, {
    credentials: () => {
      throw new Error('unavailable')
    },
  })
  expect(await send(failing.url, A, { messageId: 'm' })).toBe(503)
  await failing.close()
  const clock = fakeClock()
  const { quarantine, receiver, events } = await keeping(folder, { clock, credentials: () => A })
  await quarantine.list()
  await clock.advance(1_000)
  await until(() => expect(quarantine.size).toBe(0))
  await receiver.drain()
  expect(events).toMatchObject([{ messageId: 'm' }])
})

test('only this user can read it, and creates nothing while nothing is refused', async () => {
  const folder = emptyFolder()
  const { url, correctPair, close } = await keeping(folder)
  correctPair()
  expect(await send(url, A)).toBe(204)
  expect(existsSync(folder)).toBe(false)
  expect(await send(url, B)).toBe(401)
  await until(() => expect(textIn(folder)).toContain(B.authKey))
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  await close()
})

test('keys leave the disk with their request: admitted, cleared, too old or moved', async () => {
  const folder = emptyFolder()
  const clock = fakeClock()
  const { url, quarantine, correctPair } = await keeping(folder, { clock, quarantine: { maxAgeHours: 2 } })
  // The run of the start must be over before the pair is correct.
  await quarantine.reverify()
  const key = (name: string) => ({ authKey: `KEY-${name}` })
  expect(await send(url, A)).toBe(401)
  expect(await send(url, key('OLD'))).toBe(401)
  await clock.advance(HOUR_MS)
  expect(await send(url, key('NEW'))).toBe(401)
  await until(() => expect(textIn(folder)).toContain('KEY-NEW'))
  expect(textIn(folder)).toContain('KEY-OLD')
  expect(textIn(folder)).toContain(A.authKey)
  correctPair()
  expect(await quarantine.reverify()).toMatchObject({ admitted: 1 })
  await until(() => expect(textIn(folder)).not.toContain(A.authKey))
  for (const name of ['KEY-OLD', 'KEY-NEW']) expect(textIn(folder)).toContain(name)
  await clock.advance(HOUR_MS)
  await until(() => expect(textIn(folder)).not.toContain('KEY-OLD'))
  expect(textIn(folder)).toContain('KEY-NEW')
  quarantine.clear()
  await until(() => expect(textIn(folder)).not.toContain('KEY-NEW'))
})

test('processes share the file: any of them lists and admits the requests of all', async () => {
  const folder = emptyFolder()
  const one = await keeping(folder)
  await send(one.url, A, { messageId: 'of one' })
  const two = await keeping(folder)
  // The run of the start must be over before the pair is correct.
  await two.quarantine.reverify()
  await send(two.url, A, { messageId: 'of two' })
  await until(async () => expect((await one.quarantine.list()).items).toHaveLength(2))
  two.correctPair()
  await until(async () => expect(two.quarantine.size).toBe(2))
  expect(await two.quarantine.reverify()).toMatchObject({ admitted: 2 })
  await two.receiver.drain()
  expect(two.events).toHaveLength(2)
  // Another process notices within a tenth of a second.
  await until(() => expect(one.quarantine.size).toBe(0))
})

test('keeps what arrives while the files are being loaded, and the same body once', async () => {
  const folder = emptyFolder()
  const first = await keeping(folder)
  const bodies = Array.from({ length: 200 }, (_, nth) => JSON.stringify(callback.smsDelivery({ messageId: `m${nth}` })))
  const post = (url: string, body: string): Promise<unknown> =>
    fetch(url, { method: 'POST', body, headers: { 'x-service-signature': signCallback(body, A.signingSecret) } })
  for (const body of bodies.slice(0, 150)) await post(first.url, body)
  await first.close()
  const second = await keeping(folder)
  for (const body of bodies.slice(100)) await post(second.url, body)
  second.correctPair()
  await second.quarantine.reverify()
  expect(second.quarantine.size).toBe(0)
  await second.receiver.drain()
  expect(second.events).toHaveLength(200)
})

test('a disk that cannot be written is reported once, requests stay in memory, and the loss is reported at the end', async () => {
  const folder = emptyFolder()
  writeFileSync(folder, 'a file where the folder should be')
  const { url, quarantine, errors, correctPair, close, warned } = await keeping(folder)
  // The run of the start must be over before the pair is correct.
  await quarantine.reverify()
  for (let nth = 0; nth < 5; nth += 1) expect(await send(url, A, { messageId: `m${nth}` })).toBe(401)
  const unwritten = () => errors.filter(({ code }) => code === 'quarantine_unwritten')
  await until(() => expect(unwritten()).toHaveLength(1))
  correctPair()
  expect(await quarantine.reverify()).toMatchObject({ admitted: 5 })
  expect(await send(url, B)).toBe(401)
  await close()
  expect(unwritten()).toHaveLength(1)
  expect(warned).toContainEqual({ code: 'quarantine_lost' })
})

test('writes again to a folder that was fixed or removed', async () => {
  const folder = emptyFolder()
  writeFileSync(folder, 'in the way')
  const clock = fakeClock()
  const { url, errors } = await keeping(folder, { clock })
  expect(await send(url, A, { messageId: 'first' })).toBe(401)
  await until(() => expect(errors.some(({ code }) => code === 'quarantine_unwritten')).toBe(true))
  rmSync(folder)
  await until(async () => {
    await clock.advance(1_000)
    expect(textIn(folder)).toContain('first')
  })
  rmSync(folder, { recursive: true })
  expect(await send(url, A, { messageId: 'second' })).toBe(401)
  await until(async () => {
    await clock.advance(1_000)
    expect(textIn(folder)).toContain('second')
  })
})

test('without a folder, warns of possible callbacks that are lost at the end', async () => {
  const folder = emptyFolder()
  const junk = await keeping(folder, { quarantine: { folder: false } })
  await send(junk.url, {})
  await junk.close()
  expect(junk.warned).not.toContainEqual({ code: 'quarantine_lost' })
  const real = await keeping(folder, { quarantine: { folder: false } })
  await send(real.url, A)
  await real.close()
  expect(real.warned).toContainEqual({ code: 'quarantine_lost' })
  expect(existsSync(folder)).toBe(false)
})

test('is in the folder of the spool, if there is one', async () => {
  const folder = emptyFolder()
  const service = await receiving({ credentials: B, spool: folder, store: memoryStore() })
  await send(service.url, A)
  await until(() => expect(textIn(folder)).toContain(A.authKey))
})
