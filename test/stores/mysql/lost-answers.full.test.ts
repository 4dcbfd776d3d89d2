/** A connection is cut after a statement and before its answer: nothing is lost, and nothing happens twice. */
import { createReceiver } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'
import type { Claim } from 'messaging-webhooks/store'
import { test, type TestContext } from 'vitest'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { claim, done, eventOf } from '../postgres/events.ts'
import { describeMysql, dropTables, MYSQL_URL, newPrefix, rowsOf } from './database.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }
const LOST = { code: 'store_failed' }

/** A store behind a proxy that can cut its connections, and one that reaches the server directly. */
async function cuttable(onTestFinished: TestContext['onTestFinished']) {
  const address = new URL(MYSQL_URL)
  const proxy = await startTcpProxy(Number(address.port || 3306))
  onTestFinished(() => proxy.close())
  address.hostname = '127.0.0.1'
  address.port = String(proxy.port)
  const prefix = newPrefix()
  onTestFinished(() => dropTables(prefix))
  let woken = 0
  const open = await mysqlStore({ uri: address.href, prefix }).open({ onWork: () => void (woken += 1) })
  onTestFinished(() => open.close())
  const rows = (table: string) => rowsOf(`SELECT * FROM \`${prefix}_${table}\``)
  return { proxy, uri: address.href, prefix, open, rows, woken: () => woken }
}

/** The statement, not the isolation level of a new connection. */
const COMMIT = '\x03COMMIT'

/** In a write of one record, before and when it takes effect. */
const CUTS = [
  { when: 'before the commit', bytes: 'INSERT INTO', isWritten: false },
  { when: 'at the commit', bytes: COMMIT, isWritten: true },
] as const

describeMysql('lost answers', () => {
  test.concurrent.for(CUTS)(
    'admit and claim together, cut $when',
    TIMEOUT,
    async ({ bytes, isWritten }, { expect, onTestFinished }) => {
      const { proxy, open, woken } = await cuttable(onTestFinished)
      const nowMs = Date.now()
      const request = { limit: 10, nowMs, leaseUntilMs: nowMs + 3_600_000, exclude: new Set<string>() }
      const before = woken()
      const cut = proxy.cutAfterSending(bytes)
      await expect(Promise.resolve(open.admitAndClaim?.([eventOf('m')], request))).rejects.toMatchObject(LOST)
      await cut
      await expect.poll(woken, POLL).toBeGreaterThan(before)
      expect(await open.admit([eventOf('m')], nowMs)).toEqual([isWritten ? 'duplicate' : 'new'])
      // No handler has run the event, so the lost attempt does not count.
      expect((await claim(open)).map(({ attempt }) => attempt)).toEqual([1])
    },
  )

  test.concurrent.for([
    { when: 'before its reservation', bytes: 'SET held_until', times: 1, isLeased: false },
    { when: 'at its reservation', bytes: COMMIT, times: 1, isLeased: false },
    { when: 'before the commit of its lease', bytes: 'INSERT INTO', times: 1, isLeased: false },
    { when: 'at the commit of its lease', bytes: COMMIT, times: 2, isLeased: true },
  ])('claim, cut $when', TIMEOUT, async ({ bytes, times, isLeased }, { expect, onTestFinished }) => {
    const { proxy, open, rows } = await cuttable(onTestFinished)
    await open.admit([eventOf('m')], Date.now())
    const cut = proxy.cutAfterSending(bytes, times)
    await expect(claim(open)).rejects.toMatchObject(LOST)
    await cut
    expect((await rows('records')).map(({ worker }) => worker !== null)).toEqual([isLeased])
    const claims: Claim[] = []
    // A reservation lasts for some seconds.
    await expect.poll(async () => claims.push(...(await claim(open))), POLL).toBe(1)
    expect(claims.map(({ attempt }) => attempt)).toEqual([1])
    expect(await claim(open)).toEqual([])
    expect(await open.settle(claims.map(done), Date.now())).toEqual([true])
  })

  test.concurrent.for(CUTS)('settle, cut $when', TIMEOUT, async ({ bytes, isWritten }, { expect, onTestFinished }) => {
    const { proxy, open } = await cuttable(onTestFinished)
    await open.admit([eventOf('first'), eventOf('second')], Date.now())
    const settlements = (await claim(open)).map(done)
    const cut = proxy.cutAfterSending(bytes)
    await expect(Promise.resolve(open.settle(settlements, Date.now()))).rejects.toMatchObject(LOST)
    await cut
    expect(await open.counts()).toEqual({ unsettled: isWritten ? 0 : 2, deadLetters: 0 })
    // An event that is settled has no lease.
    expect(await open.settle(settlements, Date.now())).toEqual([!isWritten, !isWritten])
    expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
    expect(await claim(open)).toEqual([])
  })

  test.concurrent.for([
    { when: 'before the commit', bytes: '\x03RELEASE SAVEPOINT', written: ['attempt 2'] },
    { when: 'at the commit', bytes: COMMIT, written: ['attempt 1'] },
  ])(
    'what a handler wrote in its transaction, cut $when',
    TIMEOUT,
    async ({ bytes, written }, { expect, onTestFinished }) => {
      const { proxy, uri, prefix, open, rows } = await cuttable(onTestFinished)
      await rowsOf(`CREATE TABLE \`${prefix}_written\` (what VARCHAR(100) NOT NULL)`)
      const receiver = createReceiver({
        credentials: { authKey: 'unused', signingSecret: 'unused' },
        store: mysqlStore({ uri, prefix, transactional: true, pollIntervalMs: 200 }),
        logger: false,
      })
      onTestFinished(() => receiver.close({ deadlineMs: 1_000 }))
      receiver.on('message.*', async (event, { transaction, attempt }) => {
        await transaction.query(`INSERT INTO \`${prefix}_written\` VALUES ('attempt ${attempt}')`)
        if (attempt === 1) void proxy.cutAfterSending(bytes)
      })
      await receiver.start()
      await open.admit([eventOf('m')], Date.now())
      await expect.poll(() => open.counts(), POLL).toEqual({ unsettled: 0, deadLetters: 0 })
      expect((await rows('written')).map(({ what }) => what)).toEqual(written)
    },
  )
})
