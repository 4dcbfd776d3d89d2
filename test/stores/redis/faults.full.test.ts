/** Servers that lose scripts, fall silent and cut connections: leases whose answer was lost are released before they expire. */
import { chmodSync } from 'node:fs'
import { Redis } from 'ioredis'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { dispatchAll } from '../../../src/store-conformance/delivery.ts'
import { admit, admitting, claim, LONG_MS, sample, samplesOf } from '../../../src/store-conformance/samples.ts'
import { post, receiving } from '../../support/receiving.ts'
import { startRedis } from '../../support/servers/redis.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { clientFor, freshPrefix, opened, describeClients, testStore, useRedis } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }
const MANY = 2_000
/** Leases last longer than a minute, and heartbeats are sent every two seconds. */
const SOON_MS = 15_000
/** A value of each command that writes a lease. */
const LEASING = '$6\r\nleased\r\n'

describeClients((name) => {
  const server = useRedis({ appendfsync: 'no' })

  test('sends the scripts again to a server that loses them all the time', TIMEOUT, async () => {
    const open = await opened(clientFor(name, server().url()))
    const admin = new Redis(server().url())
    onTestFinished(() => admin.disconnect())
    const flushing = { goesOn: true }
    let flushes = 0
    const flusher = (async () => {
      for (; flushing.goesOn; flushes += 1) await admin.script('FLUSH')
    })()
    const seen: unknown[] = []
    for (let from = 0; from < MANY; from += 200) {
      const batch = Array.from({ length: 200 }, (_, index) =>
        sample({ message: `m${(from + index) % 500}`, at: from + index }),
      )
      expect(new Set(await admit(open, batch))).toEqual(new Set(['new']))
      seen.push(...(await dispatchAll(open)))
    }
    flushing.goesOn = false
    await flusher
    expect(flushes).toBeGreaterThan(1)
    expect(new Set(seen)).toHaveLength(MANY)
    expect(seen).toHaveLength(MANY)
  })

  test('sends an admission again after a lost answer, and gets the same leases', TIMEOUT, async () => {
    const proxy = await startTcpProxy(server().port)
    onTestFinished(() => proxy.close())
    const open = await opened(clientFor(name, server().url({ port: proxy.port })))
    const events = samplesOf(70)
    const lost = proxy.cutAfterSending(LEASING)
    const answers = await open.run(events.map((event) => admitting(event, LONG_MS)))
    await lost
    expect(answers.map(({ admission, granted }) => [admission, granted?.id, granted?.attempt])).toEqual(
      events.map(({ id }) => ['new', id, 1]),
    )
    expect((await claim(open)).claims).toEqual([])
  })

  test('a server that cannot save to its disk: the cause at once, and work again by itself', TIMEOUT, async () => {
    // With a schedule of snapshots, Redis refuses writes after one that failed.
    const own = await startRedis({ settings: { appendonly: 'no', save: '3600 1000000' } })
    onTestFinished(() => own.remove())
    const admin = new Redis(own.url())
    onTestFinished(() => admin.disconnect())
    const [, folder = ''] = (await admin.config('GET', 'dir')) as readonly string[]
    async function save(status: string): Promise<void> {
      await admin.bgsave()
      const saved = async () => /rdb_last_bgsave_status:(\w+)/.exec(await admin.info('persistence'))?.[1]
      await expect.poll(saved, POLL).toBe(status)
    }
    const { client, end } = clientFor(name, own.url())
    onTestFinished(end)
    const store = testStore(client, { pollIntervalMs: 50 })
    const { receiver, errors, url } = await receiving({ store, storeTimeoutMs: 30_000, spool: false })
    const runs: string[] = []
    receiver.on('message.*', ({ messageId }) => void runs.push(messageId))
    await receiver.start()
    const send = async (messageId: string) => (await post(url, callback.smsDelivery({ messageId }))).status
    expect(await send('before')).toBe(204)

    chmodSync(folder, 0o500)
    await save('err')
    expect(await send('meanwhile')).toBe(503)
    for (const { code, cause } of errors)
      expect([code, String(cause)]).toEqual(['store_failed', expect.stringContaining('MISCONF')])

    chmodSync(folder, 0o700)
    await save('ok')
    expect(await send('after')).toBe(204)
    // Events of different messages have no order.
    await expect.poll(() => runs.toSorted(), POLL).toEqual(['after', 'before'])
    await expect.poll(() => receiver.health(), POLL).toMatchObject({ ready: true, working: true, reasons: [] })
  })

  test.each([
    ['that other writes followed before the client was connected again', 20_000],
    ['and that was not sent again in time', 1_000],
  ])('a lease whose answer was lost %s is given back with the next heartbeat', TIMEOUT, async (_, commandTimeoutMs) => {
    const proxy = await startTcpProxy(server().port)
    onTestFinished(() => proxy.close())
    const prefix = freshPrefix()
    const other = await opened(clientFor('redis', server().url()), { prefix }, { claims: false })
    const { client, end } = clientFor(name, server().url({ port: proxy.port }))
    onTestFinished(end)
    const store = testStore(client, { prefix, commandTimeoutMs, pollIntervalMs: 50 })
    const { receiver, errors } = await receiving({ store, storeTimeoutMs: 30_000, spool: false })
    const runs: string[] = []
    receiver.on('message.*', ({ status }, { attempt }) => void runs.push(`${status} ${attempt}`))
    await receiver.start()
    const lost = proxy.cutAfterSending(LEASING)
    // The open connection stays.
    proxy.mode = 'refuses'
    await admit(other, [sample({ at: 1 })])
    await lost
    expect(await admit(other, [sample({ at: 2 })])).toEqual(['new'])
    if (commandTimeoutMs < 20_000) await expect.poll(() => errors.length, POLL).toBeGreaterThan(0)
    proxy.mode = 'passes'
    await expect.poll(() => runs, { timeout: SOON_MS }).toEqual(['m-1 2', 'm-2 1'])
    expect(errors.map(({ code }) => code)).not.toContain('lease_lost')
  })
})
