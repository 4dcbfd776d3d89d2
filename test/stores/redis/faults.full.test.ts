/** Servers that lose scripts, fall silent and cut connections: leases whose answer was lost are released before they expire. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { claim, dispatchAll, sample, START_MS } from '../../../src/store-conformance/samples.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { clientFor, freshPrefix, opened, describeClients, useRedis } from './own-redis.ts'

const TIMEOUT = { timeout: 120_000 }
const POLL = { timeout: 60_000 }
const MANY = 2_000

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
      expect(new Set(await open.admit(batch, START_MS))).toEqual(new Set(['new']))
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
    const open = await opened(clientFor(name, server().url({ port: proxy.port })), { commandTimeoutMs: 20_000 })
    const events = Array.from({ length: 70 }, (_, index) => sample({ message: `m${index}` }))
    const lost = proxy.cutAfterSending(String(START_MS + 7_654_321))
    const request = { limit: 70, nowMs: START_MS, leaseUntilMs: START_MS + 7_654_321, exclude: new Set<string>() }
    const { admissions, claims = [] } = (await open.admitAndClaim?.(events, request)) ?? {}
    await lost
    expect(new Set(admissions)).toEqual(new Set(['new']))
    expect(claims.map(({ id, attempt }) => ({ id, attempt }))).toEqual(events.map(({ id }) => ({ id, attempt: 1 })))
    expect((await claim(open)).claims).toEqual([])
  })

  test('releases a lease whose answer was lost and that other writes followed before the retry', TIMEOUT, async () => {
    const proxy = await startTcpProxy(server().port)
    onTestFinished(() => proxy.close())
    const prefix = freshPrefix()
    let woken = 0
    const host = { onWork: () => (woken += 1) }
    const settings = { prefix, commandTimeoutMs: 20_000 }
    const open = await opened(clientFor(name, server().url({ port: proxy.port })), settings, host)
    const other = await opened(clientFor(name, server().url()), settings)
    const [event, later] = [sample({ at: 1 }), sample({ at: 2 })]
    const lost = proxy.cutAfterSending(String(START_MS + 7_654_321))
    proxy.mode = 'refuses'
    const request = { limit: 10, nowMs: START_MS, leaseUntilMs: START_MS + 7_654_321, exclude: new Set<string>() }
    const answer = open.admitAndClaim?.([event], request)
    await lost
    expect(await other.admit([later], START_MS)).toEqual(['new'])
    proxy.mode = 'passes'
    await answer
    await expect.poll(() => woken, POLL).toBeGreaterThan(0)
    const { claims } = await claim(open)
    expect(claims.map(({ id, attempt }) => ({ id, attempt }))).toEqual([{ id: event.id, attempt: 1 }])
  })
})
