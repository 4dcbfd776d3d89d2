/** After a rotation: what arrived under the new pair is admitted at the next start with it, and waits visibly until then. */
import { join } from 'node:path'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, test } from 'vitest'
import { logging } from '../support/logging.ts'
import { ownFolder } from '../support/own-folder.ts'
import { A, B, send } from '../support/pairs.ts'
import { receiving, type SomeOptions } from '../support/receiving.ts'

const FORGER = { authKey: 'auth-key-of-a-forger', signingSecret: 'signing-secret-of-a-forger' }

/** An application on an SQLite file, restarted with other options. */
function appIn(folder: string) {
  return async (options: SomeOptions) => {
    const { logger, of } = logging()
    const { receiver, url, server } = await receiving({
      store: sqliteStore(join(folder, 'app.db')),
      logger,
      ...options,
    })
    const handled: string[] = []
    receiver.on(['message.*', 'late'], (event) => void handled.push(`${event.messageId} ${event.type}`))
    return {
      receiver,
      url,
      of,
      handled,
      reasons: async () => (await receiver.health()).reasons.map(({ code }) => code),
      async close(): Promise<void> {
        server.closeAllConnections()
        server.close()
        await receiver.close({ deadlineMs: 5_000 })
      },
    }
  }
}

test('a start with both pairs admits, in order, what arrived under the new one, and says what remains', async () => {
  const start = appIn(ownFolder())
  const before = await start({ credentials: A })
  await before.receiver.start()
  expect(await before.reasons()).toEqual([])
  const timestamp = Math.floor(Date.now() / 1_000)
  for (const messageId of ['m-1', 'm-2']) {
    expect(await send(before.url, B, { messageId, status: 'success', timestamp })).toBe(401)
    expect(await send(before.url, B, { messageId, status: 'sent', timestamp: timestamp - 5 })).toBe(401)
  }
  expect(await send(before.url, FORGER, { messageId: 'm-3' })).toBe(401)
  expect(await before.reasons()).toEqual(['quarantine_waiting'])
  expect(await before.receiver.health()).toMatchObject({ ready: true, working: true })
  await before.close()
  expect(before.handled).toEqual([])

  const after = await start({ credentials: [B, A] })
  await after.receiver.start()
  await expect.poll(() => after.of('quarantine_reverified')).toHaveLength(1)
  expect(after.of('quarantine_reverified')).toMatchObject([
    {
      level: 'warn',
      fields: { examined: 5, admitted: 4, waiting: 1 },
      text: expect.stringContaining('List them with receiver.quarantine.list()') as string,
    },
  ])
  await after.receiver.drain()
  for (const messageId of ['m-1', 'm-2'])
    expect(after.handled.filter((line) => line.startsWith(messageId))).toEqual([
      `${messageId} message.sent`,
      `${messageId} message.delivered`,
    ])
  expect(after.receiver.quarantine.size).toBe(1)
  expect(await after.reasons()).toEqual(['quarantine_waiting'])
  after.receiver.quarantine.clear()
  expect(await after.reasons()).toEqual([])
})

test('a first request that starts the receiver does the same', async () => {
  const start = appIn(ownFolder())
  const before = await start({ credentials: A })
  expect(await send(before.url, B, { messageId: 'm-1' })).toBe(401)
  await before.close()
  const after = await start({ credentials: [B, A] })
  expect(await send(after.url, A, { messageId: 'm-2' })).toBe(204)
  await expect.poll(() => after.handled.toSorted()).toEqual(['m-1 message.delivered', 'm-2 message.delivered'])
  await expect.poll(() => after.of('quarantine_reverified')).toHaveLength(1)
  // Nothing is left to do.
  expect(after.of('quarantine_reverified')[0]?.text).not.toContain('List them')
  expect(await after.reasons()).toEqual([])
})

test('a start looks up a bounded number of names, those of most requests first, and leaves stale signatures', async () => {
  const start = appIn(ownFolder())
  const before = await start({ credentials: () => A })
  for (let nth = 0; nth < 100; nth += 1)
    await send(before.url, FORGER, { project: `Forged ${nth}`, messageId: `f-${nth}` })
  for (const messageId of ['m-1', 'm-2']) expect(await send(before.url, B, { messageId })).toBe(401)
  expect(await send(before.url, A, { messageId: 'old' }, 1_000_000_000)).toBe(401)
  expect(before.receiver.quarantine.counts()).toMatchObject({ provedButStale: 1, looksLikeOurs: 102 })
  await before.close()

  const looked = new Set<string | undefined>()
  const after = await start({
    credentials(project) {
      looked.add(project)
      return B
    },
  })
  await after.receiver.start()
  await expect.poll(() => after.of('quarantine_reverified')).toHaveLength(1)
  expect(after.of('quarantine_reverified')[0]?.fields).toMatchObject({ admitted: 2, waiting: 101 })
  expect(looked.size).toBe(64)
  await after.receiver.drain()
  expect(after.handled.toSorted()).toEqual(['m-1 message.delivered', 'm-2 message.delivered'])
})

test('requests that look like no callback are not worth a reason or a line', async () => {
  const start = appIn(ownFolder())
  const before = await start({ credentials: A })
  await fetch(before.url, { method: 'POST', body: '{"hello":"world"}' })
  await before.receiver.start()
  expect(before.receiver.quarantine.size).toBe(1)
  expect(await before.reasons()).toEqual([])
  await before.close()
  const after = await start({ credentials: B })
  await after.receiver.start()
  await expect.poll(() => after.receiver.quarantine.size).toBe(1)
  expect(after.of('quarantine_reverified')).toEqual([])
})
