/** A connection is cut after a statement and before its answer: nothing is lost, and nothing happens twice. */
import { createReceiver } from 'messaging-webhooks'
import { mysqlStore } from 'messaging-webhooks/mysql'
import { onTestFinished, test, type TestContext } from 'vitest'
import type { Claim } from '../../../src/dispatch/claim.ts'
import { startTcpProxy } from '../../support/servers/tcp-proxy.ts'
import { SHORT_MS, testHeldAdmission, testHeldRetry } from '../held-back-writes.ts'
import { testLostLeases } from '../lost-leases.ts'
import { admit, admitting, claim, eventOf, opened, settleAll } from '../postgres/events.ts'
import { describeMysql, dropTables, MYSQL_URL, newPrefix, rowsOf } from './database.ts'

const POLL = { timeout: 30_000 }
const TIMEOUT = { timeout: 60_000 }
const LOST = { code: 'store_failed' }

/** A store behind a proxy that can cut its connections. */
async function cuttable(onTestFinished: TestContext['onTestFinished']) {
  const { proxy, uri, prefix } = await proxied(onTestFinished)
  const open = await opened(mysqlStore({ uri, prefix }), {}, onTestFinished)
  const rows = (table: string) => rowsOf(`SELECT * FROM \`${prefix}_${table}\``)
  return { proxy, uri, prefix, open, rows }
}

async function proxied(onTestFinished: TestContext['onTestFinished']) {
  const address = new URL(MYSQL_URL)
  const proxy = await startTcpProxy(Number(address.port || 3306))
  onTestFinished(() => proxy.close())
  address.hostname = '127.0.0.1'
  address.port = String(proxy.port)
  const prefix = newPrefix()
  onTestFinished(() => dropTables(prefix))
  return { proxy, uri: address.href, prefix }
}

/** The statement, not the isolation level of a new connection. */
const COMMIT = '\x03COMMIT'

/** In the list of records that a statement writes. */
const RECORDS = '"state":'

/** In a write of one record, before and when it takes effect. */
const CUTS = [
  { when: 'before the commit', bytes: RECORDS, isWritten: false },
  { when: 'at the commit', bytes: COMMIT, isWritten: true },
] as const

describeMysql('lost answers', () => {
  testLostLeases(async () => {
    const { proxy, uri, prefix } = await proxied(onTestFinished)
    return {
      store: mysqlStore({ uri, prefix, pollIntervalMs: 200 }),
      direct: mysqlStore({ uri: MYSQL_URL, prefix }),
      // Heartbeats and reservations are committed too.
      cutAdmission: () => proxy.cutAfterSending(COMMIT, { after: RECORDS }),
      cutLease: () => proxy.cutAfterSending(COMMIT, { after: RECORDS }),
    }
  })

  // The server ends the transaction of a silent client, and with it the locks, except if it may be that of a handler.
  for (const [testHeld, of, bytes, transactional] of [
    [testHeldAdmission, 'a store', COMMIT, false],
    [testHeldAdmission, 'a transactional store', RECORDS, true],
    [testHeldRetry, 'a store', COMMIT, false],
  ] as const)
    testHeld(of, async () => {
      const { proxy, uri, prefix } = await proxied(onTestFinished)
      return {
        store: mysqlStore({ uri, prefix, transactional, queryTimeoutMs: SHORT_MS }),
        direct: mysqlStore({ uri: MYSQL_URL, prefix }),
        holdBack: () => proxy.holdBack(bytes),
      }
    })

  test.concurrent.for(CUTS)('admit, cut $when', TIMEOUT, async ({ bytes, isWritten }, { expect, onTestFinished }) => {
    const { proxy, open } = await cuttable(onTestFinished)
    const cut = proxy.cutAfterSending(bytes)
    await expect(Promise.resolve(open.run([admitting(eventOf('m'), 3_600_000)]))).rejects.toMatchObject(LOST)
    await cut
    expect(await admit(open, [eventOf('m')])).toEqual([isWritten ? 'duplicate' : 'new'])
    await expect.poll(async () => (await claim(open)).length, POLL).toBe(1)
  })

  test.concurrent.for([
    { when: 'before its reservation', bytes: 'UPDATE held_until', times: 1, isLeased: false },
    { when: 'at its reservation', bytes: COMMIT, times: 1, isLeased: false },
    { when: 'before the commit of its lease', bytes: RECORDS, times: 1, isLeased: false },
    { when: 'at the commit of its lease', bytes: COMMIT, times: 2, isLeased: true },
  ])('claim, cut $when', TIMEOUT, async ({ bytes, times, isLeased }, { expect, onTestFinished }) => {
    const { proxy, open, rows } = await cuttable(onTestFinished)
    await admit(open, [eventOf('m')])
    const cut = proxy.cutAfterSending(bytes, { times })
    await expect(claim(open)).rejects.toMatchObject(LOST)
    await cut
    expect((await rows('records')).map(({ worker }) => worker !== null)).toEqual([isLeased])
    const claims: Claim[] = []
    // A reservation lasts for some seconds.
    await expect.poll(async () => claims.push(...(await claim(open))), POLL).toBe(1)
    expect(await claim(open)).toEqual([])
    expect(await settleAll(open, claims)).toEqual([true])
  })

  test.concurrent.for(CUTS)('settle, cut $when', TIMEOUT, async ({ bytes, isWritten }, { expect, onTestFinished }) => {
    const { proxy, open } = await cuttable(onTestFinished)
    await admit(open, [eventOf('first'), eventOf('second')])
    const claims = await claim(open)
    const cut = proxy.cutAfterSending(bytes)
    await expect(settleAll(open, claims)).rejects.toMatchObject(LOST)
    await cut
    expect(await open.counts()).toEqual({ unsettled: isWritten ? 0 : 2, deadLetters: 0 })
    // An event that is settled has no lease.
    expect(await settleAll(open, claims)).toEqual([!isWritten, !isWritten])
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
      await admit(open, [eventOf('m')])
      await expect.poll(() => open.counts(), POLL).toEqual({ unsettled: 0, deadLetters: 0 })
      expect((await rows('written')).map(({ what }) => what)).toEqual(written)
    },
  )
})
